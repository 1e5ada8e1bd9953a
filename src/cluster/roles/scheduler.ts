// The role `cox scheduler`.

import { pingCheck } from '#machinery/serving/health.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Client } from '#client/client.ts';
import { DecisionLog } from '#scheduler/decisions.ts';
import { SchedulerMetrics } from '#scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '#scheduler/scheduler.ts';
import { recordDecisions } from '../decision-record/writer.ts';
import { UserError } from '../user-error.ts';
import { clientFor } from './role.ts';
import { parseFlagYaml, readFlagFile, readKubeconfig } from '../flags/flag-files.ts';
import {
  startControlRole,
  type ControlRoleConfig,
  type RunningControlRole,
} from './control-role.ts';

const COMPONENT = 'kube-scheduler';
const PORT = 10_259;

export interface SchedulerRoleConfig extends ControlRoleConfig {
  /** The file of a KubeSchedulerConfiguration. Default: one profile with all defaults. */
  readonly config?: string;
}

export async function startSchedulerRole(role: SchedulerRoleConfig): Promise<RunningControlRole> {
  const { clock, random } = role;
  const logger = role.logger.with({ component: 'scheduler' });
  const configuration =
    role.config === undefined
      ? undefined
      : parseFlagYaml('--config', readFlagFile('--config', role.config));
  const metrics = new SchedulerMetrics({ clock });
  const decisions = new DecisionLog(clock);
  const make = (client: Client): Scheduler =>
    new Scheduler({
      client,
      informers: new SharedInformerFactory({ client, clock, random, logger }),
      clock,
      random,
      logger,
      configuration,
      metrics,
      decisions,
    });
  /** Set while this process leads. */
  let leader: Scheduler | undefined;
  try {
    // Errors of the configuration are reported at the start, not when this process becomes the leader.
    make(
      clientFor(await readKubeconfig('--kubeconfig', role.kubeconfig), COMPONENT, {
        clock,
        random,
        logger,
      }),
    );
  } catch (error) {
    if ((error as Error).name !== 'ConfigurationError') throw error;
    throw new UserError(`--config: ${(error as Error).message}`, { cause: error });
  }
  return startControlRole(
    { ...role, logger },
    {
      component: COMPONENT,
      defaultPort: PORT,
      metrics: () => metrics.text(),
      otherMetrics: { '/metrics/resources': () => leader?.podResourcesText() ?? '' },
      health: ({ leaderElection, shutdown }) => ({
        '/healthz': () => (leaderElection.length === 0 ? [pingCheck] : leaderElection),
        '/livez': () => [pingCheck],
        '/readyz': () => [...leaderElection, shutdown],
      }),
      async run(client, _access, signal) {
        leader = make(client);
        const recorder = { client, clock, logger, decisions, configuration };
        await Promise.all([leader.run(signal), recordDecisions(recorder, signal)]);
        leader = undefined;
      },
    },
  );
}
