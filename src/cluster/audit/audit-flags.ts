// The audit log of an API server, from kube-apiserver's flags.

import { resolve } from 'node:path';
import {
  type AuditSettings,
  type AuditSink,
  BufferedSink,
  ignoringFailures,
  LOG_FORMATS as AUDIT_FORMATS,
  type LogFormat,
  LogSink,
  readAuditPolicy,
  type ReportLoss,
  truncating,
  union,
  WebhookSink,
} from '#apiserver/audit/index.ts';
import { type KubeconfigContext, loadKubeconfig } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import { RotatedFile } from '#machinery/files/rotated-file.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { UserError } from '../user-error.ts';
import { postTo } from './audit-webhook.ts';
import { readFlagFile } from '../flags/flag-files.ts';

export { AUDIT_FORMATS };

/** The version of policies and events. */
export const AUDIT_VERSION = 'audit.k8s.io/v1';
export const AUDIT_MODES = ['batch', 'blocking', 'blocking-strict'] as const;

/** The flags that both backends have. Durations in ms, sizes in bytes. */
export interface AuditBackendFlags {
  /**
   * batch: events are collected, and requests do not wait. blocking: requests wait until they are
   * written. blocking-strict: a request that cannot be recorded at its beginning is rejected.
   */
  readonly mode?: string;
  readonly batchBufferSize?: number;
  readonly batchMaxSize?: number;
  readonly batchMaxWait?: number;
  readonly batchThrottleEnable?: boolean;
  readonly batchThrottleQps?: number;
  readonly batchThrottleBurst?: number;
  readonly truncateEnabled?: boolean;
  readonly truncateMaxBatchSize?: number;
  readonly truncateMaxEventSize?: number;
  readonly version?: string;
}

export interface AuditLogFlags extends AuditBackendFlags {
  /** '-': the standard output. */
  readonly path?: string;
  readonly format?: string;
  /** Days. */
  readonly maxage?: number;
  readonly maxbackup?: number;
  /** Megabytes. */
  readonly maxsize?: number;
  readonly compress?: boolean;
}

export interface AuditWebhookFlags extends AuditBackendFlags {
  readonly configFile?: string;
  readonly initialBackoff?: number;
  /** The old name of `initialBackoff`. */
  readonly batchInitialBackoff?: number;
}

type Prefixed<Prefix extends string, Flags> = {
  readonly [Name in keyof Flags & string as `${Prefix}${Capitalize<Name>}`]?: Flags[Name];
};

/** The flags of a command: auditLogPath, auditWebhookMode … */
export type AuditFlags = { readonly auditPolicyFile?: string } & Prefixed<
  'auditLog',
  AuditLogFlags
> &
  Prefixed<'auditWebhook', AuditWebhookFlags>;

/** Returns the flags of one backend, without its prefix. */
function backendFlags<Flags>(flags: AuditFlags, prefix: string): Flags {
  const own = Object.entries(flags).flatMap(([name, value]) => {
    if (!name.startsWith(prefix)) return [];
    const rest = name.slice(prefix.length);
    return [[rest.charAt(0).toLowerCase() + rest.slice(1), value]];
  });
  return Object.fromEntries(own) as Flags;
}

interface Services {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
}

const MEGABYTE = 1024 * 1024;
const DAY_MS = 24 * 3600 * 1000;
const BUFFER_SIZE = 10_000;
const INITIAL_BACKOFF_MS = 10_000;
const MAX_EVENT_SIZE = 100 * 1024;
const MAX_BATCH_SIZE = 10 * MEGABYTE;

/**
 * Returns the audit log that the flags describe. Undefined: there is none, since there is no
 * policy or no backend. Rejects with UserError.
 */
export async function auditOf(
  flags: AuditFlags,
  services: Services,
): Promise<AuditSettings | undefined> {
  const { auditPolicyFile } = flags;
  const auditLog = backendFlags<AuditLogFlags>(flags, 'auditLog');
  const auditWebhook = backendFlags<AuditWebhookFlags>(flags, 'auditWebhook');
  checkLog(auditLog);
  if (auditWebhook.configFile !== undefined) checkBackend('webhook', auditWebhook, 'batch');
  for (const [flag, value] of [
    ['--audit-log-path', auditLog.path],
    ['--audit-webhook-config-file', auditWebhook.configFile],
  ])
    if (value !== undefined && auditPolicyFile === undefined)
      throw new UserError(`${flag} records nothing without --audit-policy-file`);
  if (auditPolicyFile === undefined) return undefined;
  const policy = readPolicy(auditPolicyFile, services);
  const backends: ((lost: ReportLoss) => AuditSink)[] = [];
  if (auditLog.path !== undefined) {
    const output = await openLog(auditLog, services);
    const format = (auditLog.format ?? 'json') as LogFormat;
    backends.push((lost) =>
      inMode(new LogSink(output, format, lost), auditLog, LOG_DEFAULTS, services, lost),
    );
  }
  if (auditWebhook.configFile !== undefined) {
    const access = await webhookAccess(auditWebhook.configFile, services);
    backends.push((lost) => {
      const sink = new WebhookSink({
        post: postTo(access, services.clock),
        initialBackoffMs:
          auditWebhook.initialBackoff ?? auditWebhook.batchInitialBackoff ?? INITIAL_BACKOFF_MS,
        clock: services.clock,
        random: services.random,
        lost,
      });
      return inMode(sink, auditWebhook, WEBHOOK_DEFAULTS, services, lost);
    });
  }
  if (backends.length === 0) return undefined;
  return { policy, sink: (lost) => union(backends.map((backend) => backend(lost))) };
}

const LOG_DEFAULTS = { mode: 'blocking', maxSize: 1, throttled: false };
const WEBHOOK_DEFAULTS = { mode: 'batch', maxSize: 400, throttled: true };

/** Returns the backend as the flags want it used. */
function inMode(
  sink: AuditSink,
  flags: AuditBackendFlags,
  defaults: typeof LOG_DEFAULTS,
  { clock }: Services,
  lost: ReportLoss,
): AuditSink {
  const { mode = defaults.mode } = flags;
  let used = sink;
  if (mode === 'blocking') used = ignoringFailures(sink);
  else if (mode === 'batch') {
    const throttled = flags.batchThrottleEnable ?? defaults.throttled;
    const config = {
      bufferSize: flags.batchBufferSize ?? BUFFER_SIZE,
      maxBatchSize: flags.batchMaxSize ?? defaults.maxSize,
      maxBatchWaitMs: flags.batchMaxWait ?? 30_000,
      ...(throttled && {
        throttle: { qps: flags.batchThrottleQps ?? 10, burst: flags.batchThrottleBurst ?? 15 },
      }),
    };
    used = new BufferedSink(sink, config, clock, lost);
  }
  if (flags.truncateEnabled !== true) return used;
  const limits = {
    maxEventSize: flags.truncateMaxEventSize ?? MAX_EVENT_SIZE,
    maxBatchSize: flags.truncateMaxBatchSize ?? MAX_BATCH_SIZE,
  };
  return truncating(used, limits, lost);
}

function readPolicy(path: string, { logger }: Services): AuditSettings['policy'] {
  const flag = '--audit-policy-file';
  const text = readFlagFile(flag, resolve(path));
  try {
    const { policy, unknownFields } = readAuditPolicy(text);
    if (unknownFields.length > 0)
      logger.warn('the audit policy has fields that are unknown and ignored', {
        file: path,
        fields: unknownFields.join(', '),
      });
    return policy;
  } catch (error) {
    throw new UserError(
      `${flag}: loading audit policy file: ${errorMessage(error)}: from file ${path}`,
      {
        cause: error,
      },
    );
  }
}

async function openLog(
  { path = '', maxage = 366, maxbackup = 100, maxsize = 100, compress = false }: AuditLogFlags,
  { clock, logger }: Services,
): Promise<ConstructorParameters<typeof LogSink>[0]> {
  if (path === '-') return standardOutput;
  try {
    return await RotatedFile.open({
      path: resolve(path),
      maxSize: maxsize * MEGABYTE,
      maxBackups: maxbackup,
      maxAgeMs: maxage * DAY_MS,
      compress,
      clock,
      logger,
    });
  } catch (error) {
    throw new UserError(`--audit-log-path: ${errorMessage(error)}`, { cause: error });
  }
}

const standardOutput = {
  write: (text: string): Promise<void> =>
    new Promise((resolved, rejected) => {
      process.stdout.write(text, (error) => {
        if (error) rejected(error);
        else resolved();
      });
    }),
  close: (): Promise<void> => Promise.resolve(),
};

async function webhookAccess(path: string, { clock }: Services): Promise<KubeconfigContext> {
  try {
    return await loadKubeconfig(resolve(path), { clock });
  } catch (error) {
    throw new UserError(`--audit-webhook-config-file: ${errorMessage(error)}`, { cause: error });
  }
}

function checkLog(flags: AuditLogFlags): void {
  if (flags.path === undefined) return;
  checkBackend('log', flags, 'blocking');
  const { format = 'json' } = flags;
  if (!(AUDIT_FORMATS as readonly string[]).includes(format))
    throw new UserError(
      `--audit-log-format: invalid audit log format ${format}, allowed formats are ${AUDIT_FORMATS.join(', ')}`,
    );
  for (const name of ['maxage', 'maxbackup', 'maxsize'] as const)
    if ((flags[name] ?? 0) < 0)
      throw new UserError(`--audit-log-${name} ${flags[name]} can't be a negative number`);
}

function checkBackend(plugin: string, flags: AuditBackendFlags, defaultMode: string): void {
  const flag = `--audit-${plugin}`;
  const { mode = defaultMode, version = AUDIT_VERSION } = flags;
  if (!(AUDIT_MODES as readonly string[]).includes(mode))
    throw new UserError(
      `${flag}-mode: invalid audit ${plugin} mode ${mode}, allowed modes are "${AUDIT_MODES.join(',')}"`,
    );
  if (version !== AUDIT_VERSION)
    throw new UserError(
      `${flag}-version: invalid group version, the allowed version is ${AUDIT_VERSION}`,
    );
  const positive = (name: string, what: string, value: number | undefined): void => {
    if (value === undefined || value > 0) return;
    throw new UserError(
      `${flag}-${name}: invalid audit ${plugin} ${what} ${value}, must be a positive number`,
    );
  };
  if (mode === 'batch') {
    positive('batch-buffer-size', 'buffer size', flags.batchBufferSize);
    positive('batch-max-size', 'max batch size', flags.batchMaxSize);
    if (flags.batchThrottleEnable !== false) {
      positive('batch-throttle-qps', 'throttle QPS', flags.batchThrottleQps);
      positive('batch-throttle-burst', 'throttle burst', flags.batchThrottleBurst);
    }
  }
  const { truncateMaxEventSize = MAX_EVENT_SIZE, truncateMaxBatchSize = MAX_BATCH_SIZE } = flags;
  positive('truncate-max-event-size', 'max event size', truncateMaxEventSize);
  if (truncateMaxBatchSize < truncateMaxEventSize)
    throw new UserError(
      `${flag}-truncate-max-batch-size: invalid audit truncate ${plugin} max batch size ` +
        `${truncateMaxBatchSize}, must be greater than max event size (${truncateMaxEventSize})`,
    );
}
