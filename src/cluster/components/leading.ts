// Leader election: of all processes that run a component, only the holder of the component's Lease
// works.

import type { Client } from '#client/client.ts';
import { EventRecorder } from '#client/events/index.ts';
import { LeaderElector } from '#client/leader-election.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';

export interface LeaderElectionSettings {
  /** False: it works at once, without leader election. Default: true. */
  readonly leaderElect?: boolean;
  /** Default: 'kube-system'. */
  readonly resourceNamespace?: string;
  /** Default: the component's name. */
  readonly resourceName?: string;
  /** Default: 15 s. Whole seconds. */
  readonly leaseDurationMs?: number;
  /** Default: 10 s. */
  readonly renewDeadlineMs?: number;
  /** Default: 2 s. */
  readonly retryPeriodMs?: number;
}

export interface LeadingConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly client: Client;
  /** 'kube-scheduler'. */
  readonly component: string;
  /** Different for every candidate: HOST_UUID. */
  readonly identity: string;
  readonly settings: LeaderElectionSettings;
  /** Runs while this one leads; must end soon after its signal aborts. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Called with the elector, if there is an election. */
  readonly onElector?: (elector: LeaderElector) => void;
  /** Called when this process begins to lead, and when it ends. */
  readonly onLeading?: (leading: boolean) => void;
}

/**
 * Until the signal aborts: waits to lead, works as long as it does, and stands again when it has
 * lost the lease. Rejects with what the work throws, and with RangeError for times that do not go
 * together.
 */
export async function leading(config: LeadingConfig, signal: AbortSignal): Promise<void> {
  const { client, clock, random, logger, component, identity, settings, work, onLeading } = config;
  const lead = async (held: AbortSignal): Promise<void> => {
    onLeading?.(true);
    try {
      await work(held);
    } finally {
      onLeading?.(false);
    }
  };
  if (settings.leaderElect === false) return lead(signal);
  const recorder = new EventRecorder({ client, clock, random, logger, component });
  const elector = new LeaderElector({
    client,
    clock,
    random,
    logger,
    namespace: settings.resourceNamespace ?? 'kube-system',
    name: settings.resourceName ?? component,
    identity,
    leaseDurationMs: settings.leaseDurationMs,
    renewDeadlineMs: settings.renewDeadlineMs,
    retryPeriodMs: settings.retryPeriodMs,
    onStartedLeading: lead,
    onNewLeader: (leader) => {
      if (leader !== identity)
        logger.info('leader election: another process leads', { lease: component, leader });
    },
    recorder,
  });
  config.onElector?.(elector);
  try {
    while (!signal.aborted) await elector.run(signal);
  } finally {
    recorder.stop();
  }
}
