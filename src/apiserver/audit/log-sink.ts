// Writes events as lines: to a file that is rotated, or to another output.

import { errorMessage } from '#machinery/error-message.ts';
import type { AuditEvent } from './event.ts';
import type { AuditSink, ReportLoss } from './sink.ts';

export const LOG_FORMATS = ['legacy', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Where lines go. Calls do not overlap. */
export interface LogOutput {
  write(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Writes the events that arrive during a write together afterwards. */
export class LogSink implements AuditSink {
  readonly #output: LogOutput;
  readonly #format: LogFormat;
  readonly #lost: ReportLoss;
  #waiting: { readonly text: string; readonly written: (ok: boolean) => void }[] = [];
  #writing: Promise<void> | undefined;

  constructor(output: LogOutput, format: LogFormat, lost: ReportLoss) {
    this.#output = output;
    this.#format = format;
    this.#lost = lost;
  }

  process(events: readonly AuditEvent[]): Promise<boolean> {
    const lines = events.map((event) =>
      this.#format === 'json' ? event.json() : event.legacyLine(),
    );
    return new Promise((written) => {
      this.#waiting.push({ text: lines.map((line) => `${line}\n`).join(''), written });
      this.#writing ??= this.#writeAll();
    });
  }

  async stop(): Promise<void> {
    await this.#writing;
    await this.#output.close();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      let ok = true;
      try {
        await this.#output.write(batch.map(({ text }) => text).join(''));
      } catch (error) {
        ok = false;
        this.#lost('log', new Error(errorMessage(error), { cause: error }), batch.length);
      }
      for (const { written } of batch) written(ok);
    }
    this.#writing = undefined;
  }
}
