// Controls of AppArmor, seccomp and SELinux profiles.

import { quote } from '#machinery/text/go-format.ts';
import {
  type Check,
  type Container,
  containersOf,
  type Control,
  named,
  plural,
  type PodToCheck,
  quoted,
  saidBy,
  sorted,
  unlessWindows,
  type Violation,
} from '../control.ts';

const APP_ARMOR_ANNOTATIONS = 'container.apparmor.security.beta.kubernetes.io/';
const SECCOMP_POD_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER_ANNOTATIONS = 'container.seccomp.security.alpha.kubernetes.io/';

const SELINUX_TYPES = ['container_t', 'container_init_t', 'container_kvm_t'];

export const appArmorProfile: Control = {
  id: 'appArmorProfile',
  level: 'baseline',
  versions: [{ since: 0, check: checkAppArmor }],
};

export const seccompProfile: Control = {
  id: 'seccompProfile_baseline',
  level: 'baseline',
  versions: [
    { since: 0, check: checkSeccompAnnotations },
    { since: 19, check: checkSeccompTypes },
  ],
};

export const seccompProfileRestricted: Control = {
  id: 'seccompProfile_restricted',
  level: 'restricted',
  replaces: seccompProfile.id,
  versions: [
    { since: 19, check: checkSeccompRestricted },
    { since: 25, check: unlessWindows(checkSeccompRestricted) },
  ],
};

export const seLinuxOptions: Control = {
  id: 'seLinuxOptions',
  level: 'baseline',
  versions: [
    { since: 0, check: seLinuxCheck(new Set(SELINUX_TYPES)) },
    { since: 31, check: seLinuxCheck(new Set([...SELINUX_TYPES, 'container_engine_t'])) },
  ],
};

type SecurityContext = NonNullable<
  Container['securityContext'] | PodToCheck['spec']['securityContext']
>;

/**
 * Returns the faults in the security contexts of a pod and its containers, and the objects that
 * have them.
 */
function wrongIn<T>(
  pod: PodToCheck,
  faultsOf: (context: SecurityContext) => readonly T[],
): { faults: readonly T[]; who: string } {
  const { securityContext } = pod.spec;
  const ofPod = securityContext === undefined ? [] : faultsOf(securityContext);
  const ofContainers = containersOf(pod.spec).flatMap((container) => {
    const faults =
      container.securityContext === undefined ? [] : faultsOf(container.securityContext);
    return faults.length === 0 ? [] : [{ name: container.name, faults }];
  });
  const names = ofContainers.map(({ name }) => name);
  return {
    faults: [...ofPod, ...ofContainers.flatMap(({ faults }) => faults)],
    who: saidBy(ofPod.length > 0, names),
  };
}

const isHarmlessType = (type: string): boolean => type === 'RuntimeDefault' || type === 'Localhost';
const harmful = (type: string | undefined): readonly string[] =>
  type === undefined || isHarmlessType(type) ? [] : [type];

function checkAppArmor(pod: PodToCheck): Violation | undefined {
  const { faults, who } = wrongIn(pod, ({ appArmorProfile: profile }) => harmful(profile?.type));
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(APP_ARMOR_ANNOTATIONS) && !isHarmlessAppArmor(value))
    .map(([key, value]) => `${key}=${quote(value)}`);
  const setters = [
    ...(who === '' ? [] : [who]),
    ...(annotations.length > 0 ? [plural('annotation', annotations.length)] : []),
  ];
  if (setters.length === 0) return undefined;
  const forbidden = [...sorted(faults), ...sorted(annotations)];
  return {
    reason: plural('forbidden AppArmor profile', forbidden.length),
    detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quoted(forbidden)}`,
  };
}

function isHarmlessAppArmor(profile: string): boolean {
  return profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/');
}

/** Checks the seccomp annotations, which were used before 1.19, when there were no fields. */
function checkSeccompAnnotations({ annotations, spec }: PodToCheck): Violation | undefined {
  const keys = [
    SECCOMP_POD_ANNOTATION,
    ...containersOf(spec).map(({ name }) => SECCOMP_CONTAINER_ANNOTATIONS + name),
  ];
  const forbidden = keys.flatMap((key) => {
    const value = annotations[key];
    return value === undefined || isHarmlessSeccomp(value) ? [] : [`${key}=${quote(value)}`];
  });
  if (forbidden.length === 0) return undefined;
  const annotationTexts = sorted(forbidden);
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${plural('annotation', annotationTexts.length)} ${annotationTexts.join(', ')}`,
  };
}

function isHarmlessSeccomp(profile: string): boolean {
  return (
    profile === 'runtime/default' ||
    profile === 'docker/default' ||
    profile.startsWith('localhost/')
  );
}

function checkSeccompTypes(pod: PodToCheck): Violation | undefined {
  const { faults, who } = wrongIn(pod, ({ seccompProfile: profile }) => harmful(profile?.type));
  if (who === '') return undefined;
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(sorted(faults))}`,
  };
}

/** Checks that a permitted profile is set explicitly. */
function checkSeccompRestricted(pod: PodToCheck): Violation | undefined {
  const wrong = checkSeccompTypes(pod);
  if (wrong !== undefined || pod.spec.securityContext?.seccompProfile !== undefined) return wrong;
  const silent = containersOf(pod.spec).filter(
    ({ securityContext }) => securityContext?.seccompProfile === undefined,
  );
  if (silent.length === 0) return undefined;
  const who = named(
    'container',
    silent.map(({ name }) => name),
  );
  return {
    reason: 'seccompProfile',
    detail: `pod or ${who} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
}

function seLinuxCheck(types: ReadonlySet<string>): Check {
  return (pod) => {
    const { faults, who } = wrongIn(
      pod,
      ({ seLinuxOptions: { type = '', user = '', role = '' } = {} }) => [
        ...(type === '' || types.has(type) ? [] : [{ what: 'type', type }]),
        ...(user === '' ? [] : [{ what: 'user' }]),
        ...(role === '' ? [] : [{ what: 'role' }]),
      ],
    );
    if (who === '') return undefined;
    const wrongTypes = sorted(faults.flatMap(({ type }) => type ?? []));
    const forbiddenOptions = [
      ...(wrongTypes.length > 0 ? [named('type', wrongTypes)] : []),
      ...['user', 'role']
        .filter((field) => faults.some(({ what }) => what === field))
        .map((field) => `${field} may not be set`),
    ];
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${forbiddenOptions.join('; ')}`,
    };
  };
}
