// Structured logging: a message and named values. Secrets are redacted. Components get a Logger in
// their Config.

import { pino } from 'pino';
import { systemClock, type Clock } from './clock.ts';

export type LogValues = Readonly<Record<string, unknown>>;

export interface Logger {
  /**
   * Records a problem that needs a person's attention. `err`: the caught error, if there is one.
   */
  error(message: string, values?: LogValues & { err?: unknown }): void;
  warn(message: string, values?: LogValues & { err?: unknown }): void;
  info(message: string, values?: LogValues): void;
  /** Records detail for debugging. Off by default (-v shows it). */
  debug(message: string, values?: LogValues & { err?: unknown }): void;
  /**
   * Returns a logger that adds `values` to each line, for example `{ component: 'kubelet', node:
   * 'n1' }`.
   */
  with(values: LogValues): Logger;
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** Receives whole lines, each with its newline. process.stderr is a LogDestination. */
export interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerConfig {
  /** 'text': short lines for people. 'json': one JSON object per line. Default: 'text'. */
  readonly format?: 'text' | 'json';
  /** The lowest level that is written. Default: 'info'. */
  readonly level?: LogLevel;
  /** Whether lines of the format 'text' begin with the date, too, as in a file. Default: false, only the time. */
  readonly dated?: boolean;
  /** Default: process.stderr. */
  readonly destination?: LogDestination;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 50, warn: 40, info: 30, debug: 20 };

/**
 * Keys whose values are never written, at any depth. Keys are compared in lower case, without '-'
 * and '_'.
 */
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

/** The depth to which values are written: logging must not walk a whole object graph. */
const MAX_DEPTH = 6;

/** Returns a logger that writes lines. It never throws, whatever the values are. */
export function createLogger(config: LoggerConfig = {}): Logger {
  const level = config.level ?? 'info';
  const destination = config.destination ?? process.stderr;
  const clock = config.clock ?? systemClock;
  return config.format === 'json'
    ? jsonLogger(level, destination, clock)
    : textLogger(level, destination, clock, config.dated ?? false);
}

/** Discards all messages. */
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
  /**
   * The values as they would be written (secrets redacted), except that errors stay Error objects.
   */
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
    // A message below the level costs one call.
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
      // `redact` has described the errors already; pino would describe them again.
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

/**
 * Returns a value as text: bare if it is one plain word, otherwise quoted, so that programs can
 * parse the line.
 */
function textValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  if (typeof value !== 'string') return text;
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text);
}

/** Escapes control characters, so that a message cannot forge a second line. */
function oneLine(message: string): string {
  return message.replace(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}

type ShowError = (error: Error) => unknown;

/**
 * Returns a copy that can be written as JSON: secrets redacted, errors as `showError` formats them,
 * limited depth, no circular references.
 */
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

/**
 * Returns the message and the causes on one line: 'cannot bind: listen EADDRINUSE'. A cause whose
 * text is a part of the message before it is left out.
 */
function errorText(error: Error): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const text = current.message || current.name;
    if (parts.at(-1)?.includes(text) !== true) parts.push(text);
    current = current.cause;
  }
  // The thrown value is not an Error.
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
