// Structured logging: a message and named values, never interpolated secrets. Components get a Logger in their Config.

import { pino } from 'pino';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';

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

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** Takes whole lines, each with its newline. process.stderr is one. */
export interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerConfig {
  /** 'text': short lines for people; 'json': one JSON object a line. Default: 'text'. */
  readonly format?: 'text' | 'json';
  /** The least level that is written. Default: 'info'. */
  readonly level?: LogLevel;
  /** Whether lines of the format 'text' begin with the date, too, as in a file. Default: false, only the time. */
  readonly dated?: boolean;
  /** Default: process.stderr. */
  readonly destination?: LogDestination;
  /** Default: the system's. */
  readonly clock?: Clock;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 50, warn: 40, info: 30, debug: 20 };

/** The values of these keys are never written, at any depth (compared in lower case, without '-' and '_'). */
const SECRET_KEYS: ReadonlySet<string> = new Set([
  'token',
  'accesstoken',
  'bearertoken',
  'idtoken',
  'refreshtoken',
  'password',
  'passwd',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'secret',
  'clientsecret',
  'privatekey',
  'keydata',
  'clientkeydata',
  'cakey',
  'keypem',
]);

const REDACTED = '[redacted]';

/** How deep values are shown: logging must not walk a whole object graph. */
const MAX_DEPTH = 6;

/** A logger that writes lines. Does not throw, whatever the values are. */
export function createLogger(config: LoggerConfig = {}): Logger {
  const level = config.level ?? 'info';
  const destination = config.destination ?? process.stderr;
  const clock = config.clock ?? systemClock;
  return config.format === 'json'
    ? jsonLogger(level, destination, clock)
    : textLogger(level, destination, clock, config.dated ?? false);
}

/** Writes nothing. */
export const silentLogger: Logger = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  with: () => silentLogger,
};

export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  /** As they would be written (secrets redacted), except that errors stay what they are. */
  readonly values: LogValues;
}

/** A logger that keeps its messages of all levels in `records`, for tests. */
export interface RecordingLogger extends Logger {
  readonly records: readonly LogRecord[];
}

export function recordingLogger(): RecordingLogger {
  const records: LogRecord[] = [];
  const write = (level: LogLevel, message: string, values: LogValues): void => {
    records.push({ level, message, values: redact(values, (error) => error) });
  };
  return Object.assign(loggerFrom('debug', write, {}), { records });
}

type Write = (level: LogLevel, message: string, values: LogValues) => void;

function loggerFrom(level: LogLevel, write: Write, carried: LogValues): Logger {
  const at = (own: LogLevel): ((message: string, values?: LogValues) => void) => {
    // Messages below the level cost a call and nothing else.
    if (SEVERITY[own] < SEVERITY[level]) return () => {};
    return (message, values) =>
      write(own, message, values === undefined ? carried : { ...carried, ...values });
  };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    with: (values) => loggerFrom(level, write, { ...carried, ...values }),
  };
}

function jsonLogger(level: LogLevel, destination: LogDestination, clock: Clock): Logger {
  const sink = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Errors are described before they get here; pino would describe them once more.
      serializers: { err: (described: unknown) => described },
    },
    { write: (line: string) => void destination.write(line) },
  );
  const write: Write = (own, message, values) => sink[own](redact(values, describeError), message);
  return loggerFrom(level, write, {});
}

function textLogger(
  level: LogLevel,
  destination: LogDestination,
  clock: Clock,
  dated: boolean,
): Logger {
  const write: Write = (own, message, values) => {
    const { component, ...rest } = redact(values, errorText);
    const iso = new Date(clock.now()).toISOString();
    const time = dated ? iso : iso.slice(11, 23);
    const origin = typeof component === 'string' ? `${component}: ` : '';
    const shown = Object.entries(rest).map(([key, value]) => ` ${key}=${textValue(value)}`);
    destination.write(
      `${time} ${own.toUpperCase().padEnd(5)} ${origin}${oneLine(message)}${shown.join('')}\n`,
    );
  };
  return loggerFrom(level, write, {});
}

/** Bare if it is one plain word, else quoted, so that a line can be taken apart again. */
function textValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  if (typeof value !== 'string') return text;
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text);
}

/** A message cannot forge a second line. */
function oneLine(message: string): string {
  return message.replace(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}

type ShowError = (error: Error) => unknown;

/** A copy that can be written as JSON: secrets gone, errors as `showError` has them, depth bounded, no circles. */
function redact(values: LogValues, showError: ShowError): Record<string, unknown> {
  return plain(values, showError, 0) as Record<string, unknown>;
}

function plain(value: unknown, showError: ShowError, depth: number): unknown {
  switch (typeof value) {
    case 'bigint':
    case 'symbol':
      return String(value);
    case 'function':
      return '[function]';
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (value instanceof Error) return showError(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[…]' : '{…}';
  if (Array.isArray(value)) return value.map((item) => plain(item, showError, depth + 1));
  if (value instanceof Map) return plain(Object.fromEntries(value), showError, depth);
  if (value instanceof Set) return plain([...value], showError, depth);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined || key === '__proto__') continue;
    copy[key] =
      isSecretKey(key) && item !== null && item !== ''
        ? REDACTED
        : plain(item, showError, depth + 1);
  }
  return copy;
}

function isSecretKey(key: string): boolean {
  return SECRET_KEYS.has(key.toLowerCase().replaceAll(/[-_]/g, ''));
}

/** Message and causes on one line: 'cannot bind: listen EADDRINUSE'. */
function errorText(error: Error): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    parts.push(current.message || current.name);
    current = current.cause;
  }
  // A value that is not an Error was thrown.
  if (typeof current === 'string') parts.push(current);
  return parts.join(': ');
}

function describeError(error: Error): Record<string, unknown> {
  const code = 'code' in error ? error.code : undefined;
  return {
    type: error.name,
    message: errorText(error),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(error.stack !== undefined && { stack: error.stack }),
  };
}
