// The configuration of ResourceQuota: resources that are used only where a quota counts them.

import type { ResourceQuotaConfiguration } from '#api/config/apiserver/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { ConfigurationError, decodeConfigurationValue } from '../../configuration-files/decode.ts';
import type { LimitedResource } from '../configuration.ts';

const TYPE = 'apiserver/v1.ResourceQuotaConfiguration';
const V1 = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1'],
  kind: 'ResourceQuotaConfiguration',
  type: TYPE,
} as const;
/** The former group, with the same fields. */
const FORMER = {
  group: 'resourcequota.admission.k8s.io',
  versions: ['v1beta1', 'v1alpha1'],
  kind: 'Configuration',
  type: TYPE,
} as const;

/** Returns the resources that need a quota. Throws ConfigurationError. */
export function readResourceQuota(value: unknown): readonly LimitedResource[] {
  const apiVersion = isPlainObject(value) ? String(value['apiVersion']) : '';
  const expected = apiVersion.startsWith(`${FORMER.group}/`) ? FORMER : V1;
  const { limitedResources = [] } = decodeConfigurationValue<Immutable<ResourceQuotaConfiguration>>(
    value,
    expected,
  );
  const root = field.path('limitedResources');
  const errors = limitedResources.flatMap(({ resource }, index) =>
    resource === '' ? [field.required(root.index(index).child('resource'), '')] : [],
  );
  if (errors.length > 0) throw new ConfigurationError(field.aggregateMessage(errors));
  return limitedResources.map(({ apiGroup, resource, matchContains = [], matchScopes = [] }) => ({
    group: apiGroup,
    resource,
    matchContains,
    matchScopes,
  }));
}
