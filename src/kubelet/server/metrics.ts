// The metrics that the kubelet serves, by path.

import { componentMetricsText, withStability } from '#machinery/metrics/component-metrics.ts';
import { cadvisorMetrics } from '../metrics/cadvisor-metrics.ts';
import { resourceMetrics } from '../metrics/resource-metrics.ts';
import type { Usage } from '../node/usage.ts';
import { podUid } from '../types.ts';
import { volumeMetrics } from '../volume-stats/volume-metrics.ts';
import type { KubeletServerConfig } from './config.ts';
import { HttpError } from './http-request.ts';

/**
 * Returns the metrics at /metrics/NAME in Prometheus' text format. `slis`: returns those of health
 * checks. Throws HttpError (404).
 */
export async function metricsAt(
  config: KubeletServerConfig,
  name: string,
  slis: () => Promise<string>,
): Promise<string> {
  switch (name) {
    case '':
      return componentMetricsText(
        config.metrics.text(config.gauges) +
          (config.otherMetrics?.() ?? '') +
          volumeMetrics((await config.files?.read(config.pods(), 'claims'))?.values() ?? []),
        config.version,
      );
    case 'resource':
      return withStability(resourceMetrics(await usageOf(config)));
    case 'cadvisor':
      return cadvisor(config);
    case 'probes':
      return withStability(config.probeMetrics());
    case 'slis':
      return slis();
    default:
      throw new HttpError(404, '404 page not found');
  }
}

async function cadvisor(config: KubeletServerConfig): Promise<string> {
  const { cgroups: reader, pods, machine, clock } = config;
  const usage = await usageOf(config);
  const ids = (usage?.pods ?? []).flatMap(({ sandboxId, containers }) => [
    sandboxId,
    ...containers.map(({ id }) => id),
  ]);
  const cgroups = await reader?.read(ids);
  return cadvisorMetrics({
    usage,
    pods: pods(),
    ...(cgroups !== undefined && { cgroups, deviceNames: reader?.deviceNames() }),
    podUid,
    machine: machine(),
    now: clock.now(),
  });
}

/**
 * Returns undefined if the runtime does not respond: a metric reports this, and other metrics are
 * still served.
 */
async function usageOf({
  usage,
  logger,
}: Pick<KubeletServerConfig, 'usage' | 'logger'>): Promise<Usage | undefined> {
  try {
    return await usage();
  } catch (error) {
    logger.warn('kubelet: usage of pods not read', { err: error });
    return undefined;
  }
}
