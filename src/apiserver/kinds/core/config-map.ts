// The resource configmaps: the smallest complete example of a kind.

import { configMaps } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validateConfigMap,
  validateConfigMapUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type ConfigMap = Immutable<core.ConfigMap>;

const configMapStrategy: ResourceStrategy<ConfigMap> = {
  checksNameOnUpdate: true,
  validate: (configMap) => validateConfigMap(configMap),
  validateUpdate: (configMap, old) => validateConfigMapUpdate(configMap, old),
};

export const configMapTable: TableConvertor<ConfigMap> = {
  columns: [NAME, column('Data', 'Number of entries.'), AGE],
  cells: (configMap, now) => [
    configMap.metadata.name,
    Object.keys(configMap.data ?? {}).length + Object.keys(configMap.binaryData ?? {}).length,
    since(configMap.metadata.creationTimestamp, now),
  ],
};

export const configMapKind = defineKind<ConfigMap>({
  type: configMaps,
  strategy: configMapStrategy,
  table: configMapTable,
});
