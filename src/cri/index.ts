// The public face of the runtime contract.

export { CriError, criErrorReasons, isCriError, isNotFound } from "./errors.ts";
export type { CriErrorReason } from "./errors.ts";
export type * from "./service.ts";
export type * from "./types.ts";
export { complete } from "./message.ts";
