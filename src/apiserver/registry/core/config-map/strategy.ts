// ConfigMaps. The smallest whole example of a strategy.

import type { ConfigMap } from '../../../../api/core/v1/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { validateConfigMap, validateConfigMapUpdate } from '../../../../api/core/v1/validation/index.ts';
import type { ResourceStrategy } from '../../strategy.ts';

export const configMapStrategy: ResourceStrategy<Immutable<ConfigMap>> = {
  checksNameOnUpdate: true,
  validate: (configMap) => validateConfigMap(configMap),
  validateUpdate: (configMap, old) => validateConfigMapUpdate(configMap, old),
};
