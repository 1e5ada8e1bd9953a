// Composes the graceful shutdown of the node.

import { join } from 'node:path';
import type { ActivePods } from '../active-pods.ts';
import { DurableCheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { endPod } from '../end-pod.ts';
import type { PodEvents } from '../events.ts';
import type { NodeEvents } from '../node/node-events.ts';
import type { PodWorkers } from '../pod-workers.ts';
import { LogindInhibitor } from '../shutdown/logind.ts';
import { SHUTDOWN_STATE, ShutdownManager } from '../shutdown/shutdown-manager.ts';
import type { Base } from './base.ts';
import { noFile } from './simulated-checkpoint.ts';
import type { Settings } from './settings.ts';

export interface ShutdownParts {
  readonly base: Base;
  readonly settings: Settings;
  readonly active: ActivePods;
  readonly workers: PodWorkers;
  readonly events: PodEvents;
  readonly nodeEvents: NodeEvents;
  /** Called when the node's condition has changed. */
  readonly onChange: () => void;
}

/** Returns undefined if pods get no time to end. */
export function makeShutdown(parts: ShutdownParts): ShutdownManager | undefined {
  const { base, settings, active, workers, events, nodeEvents, onChange } = parts;
  const { config, metrics, logger } = base;
  const { clock, shutdownPeriods: periods = [] } = config;
  if (periods.length === 0) return undefined;
  return new ShutdownManager({
    inhibitor: config.shutdownInhibitor ?? new LogindInhibitor(),
    periods,
    clock,
    logger,
    metrics,
    file: settings.hostFiles
      ? new DurableCheckpointFile(join(settings.rootDir, SHUTDOWN_STATE))
      : noFile,
    active: () => active.list(),
    endPod: (pod, gracePeriodSeconds, reason, message, signal) =>
      endPod({ workers, events, clock }, pod, {
        reason,
        message,
        gracePeriodSeconds,
        disruption: message,
        keepsSuccess: true,
        // Drivers of volumes, which are in the last group, have to unmount them.
        waitsForVolumes: true,
        signal,
      }),
    event: (reason, message) => nodeEvents.normal(reason, message),
    onChange,
  });
}
