// Structured logging: a message and named values, never interpolated secrets. Components get a Logger in their Config.

export type LogValues = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Something a person should act on. `err` is the cause, if one was caught. */
  error(message: string, values?: LogValues & { err?: unknown }): void;
  warn(message: string, values?: LogValues & { err?: unknown }): void;
  info(message: string, values?: LogValues): void;
  /** Detail for debugging; off by default (shown by -v). */
  debug(message: string, values?: LogValues & { err?: unknown }): void;
  /** A logger whose lines carry `values` (for example `{ component: 'kubelet', node: 'n1' }`). */
  with(values: LogValues): Logger;
}
