// Watches the ConfigMap: each valid version is reported, and after an invalid one the last valid
// version stays in force.

import { type ConfigMap, configMaps } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { InformerSource, SharedInformer } from '#client/informers/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Labels } from '../wire/names.ts';
import {
  CONFIG_NAME,
  CONFIG_NAMESPACE,
  defaultConfiguration,
  parseConfiguration,
} from './config-map.ts';
import type { DnsConfiguration } from '../configuration.ts';

export interface FollowConfigMapConfig {
  readonly informers: InformerSource;
  readonly domain: Labels;
  readonly logger: Logger;
  /** Called for each valid version, and with the default if the ConfigMap is deleted. */
  readonly use: (configuration: DnsConfiguration) => void;
  /** Called for an invalid version. */
  readonly onInvalid: () => void;
}

/** Returns the informer, which the caller's factory starts. */
export function followConfigMap(
  config: FollowConfigMapConfig,
): SharedInformer<Immutable<ConfigMap>> {
  const { informers, domain, logger, use, onInvalid } = config;
  const informer = informers.informerFor(configMaps, {
    namespace: CONFIG_NAMESPACE,
    fieldSelector: `metadata.name=${CONFIG_NAME}`,
  });
  const read = (map: Immutable<ConfigMap>): void => {
    try {
      use(parseConfiguration(map, domain));
    } catch (error) {
      onInvalid();
      logger.error('DNS configuration is invalid, keeping the previous one', {
        configMap: `${CONFIG_NAMESPACE}/${CONFIG_NAME}`,
        reason: errorMessage(error),
      });
    }
  };
  informer.addEventHandler({
    onAdd: read,
    onUpdate: (_previous, map) => read(map),
    onDelete: () => use(defaultConfiguration(domain)),
  });
  return informer;
}
