// The public face of the runtime contract.

export { CriError, criErrorReasons, isCriError, isNotFound } from './errors.ts';
export type { CriErrorReason } from './errors.ts';
export type * from './service.ts';
export type * from './types.ts';
export { complete } from './message.ts';
export { formatLogEntry, logTime, parseLogEntry } from './log-format.ts';
export type { LogEntry, LogStream } from './log-format.ts';
export { toMilliseconds, toNanoseconds } from './time.ts';
