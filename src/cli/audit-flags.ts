// The flags of the audit log: of the commands that run an API server.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { AUDIT_FORMATS, AUDIT_MODES, AUDIT_VERSION } from '#cluster/audit/audit-flags.ts';
import { duration, numberUpTo, wholeNumber, yesOrNo } from './flags.ts';

const batchCount = numberUpTo(1_000_000, 'a number of events or batches');
const bytes = numberUpTo(2 ** 31 - 1, 'a size in bytes');

function rate(text: string): number {
  if (/^\d{1,6}(\.\d{1,6})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('a number of batches per second, above 0.');
}

/** Adds the policy, and where the log is written. */
export function withAuditFlags(command: Command): Command {
  return command
    .option(
      '--audit-policy-file <file>',
      'audit policy (audit.k8s.io/v1): which requests are recorded, and with how much of them',
    )
    .option(
      '--audit-log-path <file>',
      "file of the audit log; '-': the standard output (default: none)",
    )
    .option(
      '--audit-log-maxage <days>',
      'how long old files are kept; 0: for ever (default: 366)',
      wholeNumber,
    )
    .option(
      '--audit-log-maxbackup <count>',
      'how many old files are kept; 0: all (default: 100)',
      wholeNumber,
    )
    .option(
      '--audit-log-maxsize <megabytes>',
      'size at which a new file begins; 0: never (default: 100)',
      wholeNumber,
    )
    .option('--audit-log-compress [bool]', 'compress old files (default: false)', yesOrNo)
    .addOption(
      new Option('--audit-log-format <format>', 'form of the lines (default: json)').choices(
        AUDIT_FORMATS,
      ),
    )
    .option(
      '--audit-webhook-config-file <file>',
      'kubeconfig of a server that gets the events (default: none)',
    );
}

/** Adds kube-apiserver's further flags. */
export function withAuditBackendFlags(command: Command): Command {
  backendFlags(command, 'log', { mode: 'blocking', maxSize: 1 });
  command
    .option(
      '--audit-webhook-initial-backoff <duration>',
      'pause before a failed request is tried again (default: 10s)',
      duration,
    )
    .option(
      '--audit-webhook-batch-initial-backoff <duration>',
      'the same, under its old name',
      duration,
    );
  backendFlags(command, 'webhook', { mode: 'batch', maxSize: 400 });
  return command;
}

function backendFlags(
  command: Command,
  plugin: 'log' | 'webhook',
  { mode, maxSize }: { readonly mode: string; readonly maxSize: number },
): void {
  const flag = `--audit-${plugin}`;
  command
    .addOption(
      new Option(
        `${flag}-mode <mode>`,
        'blocking: requests wait until they are recorded; blocking-strict: they fail if they ' +
          `cannot be; batch: they do not wait (default: ${mode})`,
      ).choices(AUDIT_MODES),
    )
    .addOption(
      new Option(
        `${flag}-version <version>`,
        `version of the events (default: ${AUDIT_VERSION})`,
      ).choices([AUDIT_VERSION]),
    )
    .option(
      `${flag}-batch-buffer-size <count>`,
      'batch: events beyond this number are lost (default: 10000)',
      batchCount,
    )
    .option(
      `${flag}-batch-max-size <count>`,
      `batch: maximum number of events (default: ${maxSize})`,
      batchCount,
    )
    .option(
      `${flag}-batch-max-wait <duration>`,
      'batch: how long an event waits for others (default: 30s)',
      duration,
    )
    .option(
      `${flag}-batch-throttle-enable [bool]`,
      `batch: limit the batches per second (default: ${plugin === 'webhook'})`,
      yesOrNo,
    )
    .option(`${flag}-batch-throttle-qps <number>`, 'batch: batches per second (default: 10)', rate)
    .option(
      `${flag}-batch-throttle-burst <count>`,
      'batch: batches at once (default: 15)',
      batchCount,
    )
    .option(
      `${flag}-truncate-enabled [bool]`,
      'shorten events that are too long (default: false)',
      yesOrNo,
    )
    .option(
      `${flag}-truncate-max-event-size <bytes>`,
      'longer events lose their objects (default: 102400)',
      bytes,
    )
    .option(
      `${flag}-truncate-max-batch-size <bytes>`,
      'longer batches are divided (default: 10485760)',
      bytes,
    );
}
