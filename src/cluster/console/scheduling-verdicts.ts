// The scheduler's decision about pods, repeated without effect, for those who explain it.

import { existsSync, readFileSync } from 'node:fs';
import { type Pod, nodes as nodeType, pods as podType } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { SchedulingVerdict } from '#client/explain/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { dryRun } from '#scheduler/dry-run.ts';
import { parseFlagYaml } from '../flags/flag-files.ts';
import { UserError } from '../user-error.ts';

/** Reading a cluster takes longer only if something may not be read: then nothing comes. */
const TIMEOUT_MS = 20_000;

/** The KubeSchedulerConfiguration of the cluster, if it has one of its own. */
export interface SchedulerSettings {
  readonly configFile?: string;
  /** As its YAML reads. */
  readonly configuration?: unknown;
}

/**
 * Returns the verdicts by UID. One that cannot be had says why. Throws UserError for a configuration that is wrong.
 */
export async function schedulingVerdicts(
  client: Client,
  pods: readonly Immutable<Pod>[],
  { configFile, ...settings }: SchedulerSettings = {},
): Promise<ReadonlyMap<string, SchedulingVerdict>> {
  if (pods.length === 0) return new Map();
  const configuration = configFile === undefined ? settings.configuration : readConfig(configFile);
  const late = new AbortController();
  const timer = systemClock.setTimer(TIMEOUT_MS, () =>
    late.abort(new Error(`the cluster was not read within ${TIMEOUT_MS / 1000} s`)),
  );
  try {
    // Informers would wait for permissions that do not come.
    await Promise.all([
      client.resource(nodeType).list({ limit: 1, signal: late.signal }),
      client.resource(podType).list({ limit: 1, signal: late.signal }),
    ]);
    return await dryRun(
      {
        client,
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        signal: late.signal,
        ...(configuration !== undefined && { configuration }),
      },
      pods,
    );
  } catch (error) {
    if ((error as Error).name === 'ConfigurationError')
      throw new UserError(`--scheduler-config: ${errorMessage(error)}`, { cause: error });
    const failed: SchedulingVerdict = {
      profile: '',
      plugins: [],
      rejections: [],
      nodes: [],
      error: errorMessage(error),
    };
    return new Map(pods.map((pod) => [pod.metadata.uid, failed]));
  } finally {
    timer.cancel();
  }
}

function readConfig(file: string): unknown {
  if (!existsSync(file)) throw new UserError(`--scheduler-config: there is no file ${file}`);
  return parseFlagYaml('--scheduler-config', readFileSync(file, 'utf8'));
}
