// The options of `cox kubelet` about the shutdown of the machine, which are fields of the
// configuration only: checked as upstream's kubelet checks them.

import { periodsOf, type ShutdownPeriod } from '#kubelet/shutdown/periods.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { UserError } from '../../user-error.ts';

/** With upstream's names. Durations are milliseconds. */
export interface ShutdownOptions {
  readonly shutdownGracePeriod?: number;
  readonly shutdownGracePeriodCriticalPods?: number;
  readonly shutdownGracePeriodByPodPriority?: readonly {
    readonly priority: number;
    readonly shutdownGracePeriodSeconds: number;
  }[];
}

/** Returns the periods; undefined if pods are not ended. Throws UserError. */
export function shutdownPeriods(options: ShutdownOptions): readonly ShutdownPeriod[] | undefined {
  const { shutdownGracePeriod: total = 0, shutdownGracePeriodCriticalPods: critical = 0 } = options;
  const { shutdownGracePeriodByPodPriority: byPriority = [] } = options;
  if (critical > total) {
    throw invalid(
      `shutdownGracePeriodCriticalPods {${formatDuration(critical)}} must be <= ` +
        `shutdownGracePeriod {${formatDuration(total)}}`,
    );
  }
  checkPeriod('shutdownGracePeriod', total);
  checkPeriod('shutdownGracePeriodCriticalPods', critical);
  if (byPriority.length > 0 && total > 0) {
    throw invalid(
      'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    );
  }
  for (const { priority, shutdownGracePeriodSeconds: seconds } of byPriority)
    if (!Number.isInteger(priority) || !Number.isInteger(seconds) || seconds < 0) {
      throw invalid(
        'shutdownGracePeriodByPodPriority has fields priority and shutdownGracePeriodSeconds, ' +
          'whole numbers',
      );
    }
  const periods =
    byPriority.length > 0
      ? byPriority.map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({
          priority,
          seconds,
        }))
      : periodsOf(total, critical);
  return periods.length === 0 ? undefined : periods;
}

function checkPeriod(name: string, ms: number): void {
  if (ms !== 0 && ms < 1000)
    throw invalid(`${name} {${formatDuration(ms)}} must be either zero or otherwise >= 1 sec`);
}

function invalid(problem: string): UserError {
  return new UserError(`invalid configuration: ${problem}`);
}
