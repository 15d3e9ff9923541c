import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/node_modules/", "target/", ".venv/", "dist/", "build/", "tests/audit-source/", "**/*.d.ts", "**/*.d.cts", "**/*.d.mts"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, globals: globals.node },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-else-return": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  { files: ["**/*.cjs"], languageOptions: { sourceType: "commonjs" } },
];
