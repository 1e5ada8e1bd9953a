// Validation of seccomp and AppArmor profiles in their former annotations, which are still allowed:
// an annotation must be equal to the field.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { AppArmorProfile, PodSpec, SeccompProfile } from './types.ts';
import { allContainers, localDescendingPath } from './common.ts';

type Annotations = Readonly<Record<string, string>>;

const SECCOMP_OF_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_OF_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
export const APP_ARMOR_OF_CONTAINER = 'container.apparmor.security.beta.kubernetes.io/';

const LOCALHOST = 'localhost/';
const SECCOMP_RUNTIME_DEFAULTS = ['runtime/default', 'docker/default'];
const APP_ARMOR_RUNTIME_DEFAULT = 'runtime/default';
const UNCONFINED = 'unconfined';

const isOfProfile = (key: string): boolean =>
  key === SECCOMP_OF_POD ||
  key.startsWith(SECCOMP_OF_CONTAINER) ||
  key.startsWith(APP_ARMOR_OF_CONTAINER);

/** Validates that each annotation is a profile of an existing container. */
export function profileAnnotations(
  map: Annotations | undefined,
  spec: PodSpec,
  at: FieldPath,
): FieldErrorList {
  if (map === undefined || !Object.keys(map).some(isOfProfile)) return [];
  const entries = Object.entries(map);
  const errors = entries
    .filter(([key]) => key === SECCOMP_OF_POD || key.startsWith(SECCOMP_OF_CONTAINER))
    .flatMap(([key, profile]) => seccompProfile(profile, at.child(key)));
  const names = new Set(allContainers(spec, at).map(({ container }) => container.name));
  for (const [key, profile] of entries) {
    if (!key.startsWith(APP_ARMOR_OF_CONTAINER)) continue;
    const name = key.slice(APP_ARMOR_OF_CONTAINER.length);
    if (!names.has(name)) errors.push(field.invalid(at.key(key), name, 'container not found'));
    if (!isAppArmorProfile(profile)) {
      errors.push(
        field.invalid(at.key(key), profile, `invalid AppArmor profile name: ${quote(profile)}`),
      );
    }
  }
  return errors;
}

function seccompProfile(profile: string, at: FieldPath): FieldErrorList {
  if (profile === UNCONFINED || SECCOMP_RUNTIME_DEFAULTS.includes(profile)) return [];
  if (profile.startsWith(LOCALHOST))
    return localDescendingPath(profile.slice(LOCALHOST.length), at);
  return [field.invalid(at, profile, 'must be a valid seccomp profile')];
}

const isAppArmorProfile = (profile: string): boolean =>
  profile === '' ||
  profile === APP_ARMOR_RUNTIME_DEFAULT ||
  profile === UNCONFINED ||
  profile.startsWith(LOCALHOST);

/** Returns the field for an annotation; undefined if there is none. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation.startsWith(LOCALHOST)) {
    const localhostProfile = annotation.slice(LOCALHOST.length);
    return localhostProfile === '' ? undefined : { type: 'Localhost', localhostProfile };
  }
  if (annotation === UNCONFINED) return { type: 'Unconfined' };
  return annotation === APP_ARMOR_RUNTIME_DEFAULT ? { type: 'RuntimeDefault' } : undefined;
}

/**
 * Validates that the annotations of a pod or template agree with its fields. `at`: the path of the
 * spec.
 */
export function profilesMatch(
  map: Annotations | undefined,
  spec: PodSpec,
  at: FieldPath,
): FieldErrorList {
  if (map === undefined || !Object.keys(map).some(isOfProfile)) return [];
  const annotations = map;
  const errors = seccompMatches(
    annotations[SECCOMP_OF_POD],
    spec.securityContext?.seccompProfile,
    at.child('securityContext'),
  );
  const containers = allContainers(spec, at);
  for (const { container, at: path } of containers) {
    const { seccompProfile: profile } = container.securityContext ?? {};
    errors.push(
      ...seccompMatches(
        annotations[SECCOMP_OF_CONTAINER + container.name],
        profile,
        path.child('securityContext'),
      ),
    );
  }
  if (spec.os?.name === 'windows') return errors;
  for (const { container, at: path } of containers) {
    const profile =
      container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    const annotation = annotations[APP_ARMOR_OF_CONTAINER + container.name];
    errors.push(...appArmorMatches(annotation, profile, path.child('securityContext')));
  }
  return errors;
}

interface Profile {
  readonly type?: string;
  readonly localhostProfile?: string;
}

function seccompMatches(
  annotation: string | undefined,
  profile: SeccompProfile | undefined,
  at: FieldPath,
): FieldErrorList {
  return matches(
    annotation,
    profile,
    SECCOMP_RUNTIME_DEFAULTS,
    'seccomp',
    at.child('seccompProfile'),
  );
}

function appArmorMatches(
  annotation: string | undefined,
  profile: AppArmorProfile | undefined,
  at: FieldPath,
): FieldErrorList {
  return matches(
    annotation,
    profile,
    [APP_ARMOR_RUNTIME_DEFAULT],
    'apparmor',
    at.child('appArmorProfile'),
  );
}

function matches(
  annotation: string | undefined,
  profile: Profile | undefined,
  runtimeDefaults: readonly string[],
  what: string,
  at: FieldPath,
): FieldErrorList {
  if (annotation === undefined || profile === undefined) return [];
  const isSame = {
    Unconfined: annotation === UNCONFINED,
    RuntimeDefault: runtimeDefaults.includes(annotation),
    Localhost: annotation.startsWith(LOCALHOST),
  }[profile.type ?? ''];
  if (isSame === false)
    return [field.forbidden(at.child('type'), `${what} type in annotation and field must match`)];
  if (
    profile.type !== 'Localhost' ||
    annotation.slice(LOCALHOST.length) === profile.localhostProfile
  )
    return [];
  return [
    field.forbidden(
      at.child('localhostProfile'),
      `${what} profile in annotation and field must match`,
    ),
  ];
}
