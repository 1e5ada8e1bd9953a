// Where audit events go, and the forms in which a backend is used.

import type { AuditEvent } from './event.ts';

/** Takes events. Several sinks, batches and limits of size are sinks themselves. */
export interface AuditSink {
  /** Resolves when the events are written, or cannot be: with whether they are. Never rejects. */
  process(events: readonly AuditEvent[]): Promise<boolean>;
  /** Writes what is waiting, and releases everything. */
  stop(): Promise<void>;
}

/** Counts and logs events that a part of the audit log has lost. */
export type ReportLoss = (plugin: string, error: unknown, lost: number) => void;

/** Returns a sink that sends events to all of these. */
export function union(sinks: readonly AuditSink[]): AuditSink {
  return {
    process: async (events) =>
      (await Promise.all(sinks.map((sink) => sink.process(events)))).every(Boolean),
    stop: async () => void (await Promise.all(sinks.map((sink) => sink.stop()))),
  };
}

/** Returns a sink that waits for the other, and ignores whether it has written the events. */
export function ignoringFailures(sink: AuditSink): AuditSink {
  return {
    process: async (events) => (await sink.process(events), true),
    stop: () => sink.stop(),
  };
}

export interface TruncateLimits {
  /** Bytes. Longer events lose their objects; events that are still too long are lost. */
  readonly maxEventSize: number;
  /** Bytes. Longer batches are divided. */
  readonly maxBatchSize: number;
}

/** Returns a sink that limits the sizes of what the other gets. */
export function truncating(sink: AuditSink, limits: TruncateLimits, lost: ReportLoss): AuditSink {
  return {
    async process(events) {
      let written = true;
      let batch: AuditEvent[] = [];
      let batchSize = 0;
      let dropped = 0;
      for (const each of events) {
        const isShort = Buffer.byteLength(each.json()) <= limits.maxEventSize;
        const event = isShort ? each : each.truncated();
        const size = Buffer.byteLength(event.json());
        if (size > limits.maxEventSize) {
          dropped++;
          continue;
        }
        if (batch.length > 0 && batchSize + size > limits.maxBatchSize) {
          written = (await sink.process(batch)) && written;
          batch = [];
          batchSize = 0;
        }
        batch.push(event);
        batchSize += size;
      }
      if (batch.length > 0) written = (await sink.process(batch)) && written;
      if (dropped > 0)
        lost('truncate', new Error('event is too large even after truncating'), dropped);
      return written;
    },
    stop: () => sink.stop(),
  };
}
