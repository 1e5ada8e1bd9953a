// Rejects pods with AppArmor profiles where the kernel does not enforce them.

import type { Rejection } from './admission.ts';
import type { Pod } from './types.ts';

/** The annotation, with a container's name at its end, that preceded the field. */
const ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** Returns the rejection of a pod that has a profile but has not run yet. */
export function admitAppArmor(pod: Pod, enabled: boolean): Rejection | undefined {
  if (enabled || pod.status.phase !== 'Pending' || !hasProfile(pod)) return undefined;
  return {
    reason: 'AppArmor',
    message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
  };
}

function hasProfile({ metadata, spec }: Pod): boolean {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return (
    [spec, ...containers].some(({ securityContext }) => {
      const type = securityContext?.appArmorProfile?.type;
      return type !== undefined && type !== 'Unconfined';
    }) ||
    Object.entries(metadata.annotations ?? {}).some(
      ([key, value]) => key.startsWith(ANNOTATION) && value !== 'unconfined',
    )
  );
}
