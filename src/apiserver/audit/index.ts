// The audit log: who did what, when, from where, and with which outcome.

export { AuditLog, type AuditSettings } from './audit-log.ts';
export { type BatchConfig, BufferedSink } from './buffered.ts';
export { AuditEvent, type AuditEventFields } from './event.ts';
export { LOG_FORMATS, type LogFormat, type LogOutput, LogSink } from './log-sink.ts';
export { AuditMetrics } from './metrics.ts';
export type { AuditPolicy } from './policy.ts';
export { type ReadPolicy, readAuditPolicy } from './read-policy.ts';
export {
  type AuditSink,
  ignoringFailures,
  type ReportLoss,
  type TruncateLimits,
  truncating,
  union,
} from './sink.ts';
export { WebhookSink } from './webhook-sink.ts';
