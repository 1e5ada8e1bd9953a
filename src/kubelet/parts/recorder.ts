// Composes the recorder of a kubelet's events.

import { EventRecorder } from '#client/events/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { KubeletConfig } from '../config.ts';

export function makeRecorder(config: KubeletConfig, logger: Logger): EventRecorder {
  return new EventRecorder({
    client: config.client,
    clock: config.backgroundClock ?? config.clock,
    random: config.random,
    logger,
    component: 'kubelet',
    host: config.nodeName,
    perSecond: config.eventsPerSecond ?? 50,
    burst: config.eventsPerSecond === 0 ? Number.POSITIVE_INFINITY : (config.eventBurst ?? 100),
    ...(config.eventCorrelator !== undefined && { correlator: config.eventCorrelator }),
  });
}
