export * from "./audit.cjs";
