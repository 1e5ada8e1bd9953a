// AppArmor profiles were annotations of a pod before there was a field. Only the field is used, so
// the annotations of older clients are converted, with a warning.

import type * as core from '#api/groups/core/v1/index.ts';
import { validateAppArmorProfile } from '#api/groups/core/v1/validation/index.ts';
import {
  APP_ARMOR_OF_CONTAINER,
  appArmorProfileOf,
} from '#api/groups/core/v1/validation/profile-annotations.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { Pod } from './pod.ts';

type Confined = Pick<Immutable<core.Container>, 'name' | 'securityContext'>;

/**
 * Returns the pod with fields for its annotations; the same pod if there is nothing to convert.
 * `warn` is called for each annotation that is invalid or has no equivalent field.
 */
export function withAppArmorFields(pod: Pod, warn: (text: string) => void): Pod {
  const { spec } = pod;
  const annotations = pod.metadata.annotations ?? {};
  if (spec.os?.name === 'windows') return pod;
  if (!Object.keys(annotations).some((key) => key.startsWith(APP_ARMOR_OF_CONTAINER))) return pod;
  const confine = <C extends Confined>(container: C): C => {
    const key = APP_ARMOR_OF_CONTAINER + container.name;
    const annotation = annotations[key];
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined)
      return container;
    const profile = appArmorProfileOf(annotation);
    const isValid =
      profile !== undefined && validateAppArmorProfile(profile, field.path()).length === 0;
    if (isValid && semanticEqual(profile, spec.securityContext?.appArmorProfile)) return container;
    const at = field.path('metadata', 'annotations').key(key);
    warn(`${at.toString()}: deprecated since v1.30; use the "appArmorProfile" field instead`);
    return isValid
      ? {
          ...container,
          securityContext: { ...container.securityContext, appArmorProfile: profile },
        }
      : container;
  };
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(initContainers !== undefined && { initContainers: initContainers.map(confine) }),
      containers: spec.containers.map(confine),
      ...(ephemeralContainers !== undefined && {
        ephemeralContainers: ephemeralContainers.map(confine),
      }),
    },
  };
}
