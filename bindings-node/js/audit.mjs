import audit from "./audit.cjs";

export const { RefusalAudit, RefusalsDoNotAnswer } = audit;
