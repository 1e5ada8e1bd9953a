// ConfigMaps. The smallest whole example of a strategy.

import type { ConfigMap } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { validateConfigMap, validateConfigMapUpdate } from '#api/groups/core/v1/validation/index.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

export const configMapStrategy: ResourceStrategy<Immutable<ConfigMap>> = {
  checksNameOnUpdate: true,
  validate: (configMap) => validateConfigMap(configMap),
  validateUpdate: (configMap, old) => validateConfigMapUpdate(configMap, old),
};
