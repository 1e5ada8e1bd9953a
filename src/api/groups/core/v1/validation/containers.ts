// Validation of containers: ordinary, init and ephemeral.

import * as field from '#machinery/validation/field.ts';
import type { FieldError, FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  Container,
  ContainerPort,
  ContainerResizePolicy,
  EphemeralContainer,
  PodSpec,
  Volume,
} from './types.ts';
import { invalidEach, oneOf, optionalOneOf } from './common.ts';
import { env, envFrom } from './env.ts';
import { volumeDevices, volumeMounts } from './mounts.ts';
import { probesAndHooks } from './probes.ts';
import { containerResourceRequirements } from './resources.ts';
import { securityContext } from './security.ts';

/** The properties of a pod that the rules of its containers use. */
export interface PodFacts {
  /** The volumes without errors. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
  readonly spec: PodSpec;
  /** Accept init containers, other than sidecars, that restart for a resize: one did before. */
  readonly restartingInit: boolean;
}

export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const RESTART_ACTIONS = ['Restart', 'RestartAllContainers'];
const MAX_RESTART_RULES = 20;
const MAX_EXIT_CODES = 255;

export function containers(
  list: readonly Container[],
  pod: PodFacts,
  at: FieldPath,
): FieldErrorList {
  if (list.length === 0) return [field.required(at)];
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  list.forEach((container, index) => {
    const path = at.index(index);
    errors.push(...commonContainer(container, pod, path));
    if (names.has(container.name)) errors.push(field.duplicate(path.child('name'), container.name));
    names.add(container.name);
    errors.push(...probesAndHooks(container, pod, path), ...restart(container, path));
  });
  errors.push(...hostPortConflicts(list, at));
  return errors;
}

export function initContainers(
  list: readonly Container[],
  regular: readonly Container[],
  pod: PodFacts,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set(regular.map((container) => container.name));
  list.forEach((container, index) => {
    const path = at.index(index);
    errors.push(
      ...commonContainer(container, pod, path),
      ...initRestart(container, path),
      ...uniqueName(container.name, names, path),
    );
    // Init containers run one after the other, so each is checked separately.
    errors.push(...hostPortConflicts([container], at));
    // Only sidecars run beside the other containers: only they can have probes and hooks, and
    // restart for a resize.
    if (container.restartPolicy === 'Always') errors.push(...probesAndHooks(container, pod, path));
    else {
      (container.resizePolicy ?? []).forEach(({ restartPolicy }, policyIndex) => {
        if (restartPolicy !== 'RestartContainer' || pod.restartingInit) return;
        const message = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        errors.push(
          field.invalid(
            path.child('resizePolicy').index(policyIndex).child('restartPolicy'),
            restartPolicy,
            message,
          ),
        );
      });
      for (const name of [
        'lifecycle',
        'livenessProbe',
        'readinessProbe',
        'startupProbe',
      ] as const) {
        if (container[name] !== undefined) {
          errors.push(
            field.forbidden(
              path.child(name),
              'may not be set for init containers without restartPolicy=Always',
            ),
          );
        }
      }
    }
  });
  return errors;
}

const NOT_FOR_EPHEMERAL = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

export function ephemeralContainers(
  list: readonly EphemeralContainer[],
  others: readonly Container[],
  pod: PodFacts,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const otherNames = new Set(others.map((container) => container.name));
  const names = new Set(otherNames);
  list.forEach((container, index) => {
    const path = at.index(index);
    errors.push(...commonContainer(container, pod, path), ...image(container, path));
    if (names.has(container.name)) errors.push(field.duplicate(path.child('name'), container.name));
    names.add(container.name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !otherNames.has(target))
      errors.push(field.notFound(path.child('targetContainerName'), target));
    // Fields with an effect on the pod's service are not allowed in ephemeral containers.
    for (const name of NOT_FOR_EPHEMERAL) {
      // Resources are always present: only their content counts. An empty value counts as set.
      const value = container[name];
      if (
        value !== undefined &&
        value !== null &&
        (name !== 'resources' || Object.keys(value).length > 0)
      ) {
        errors.push(field.forbidden(path.child(name), 'cannot be set for an Ephemeral Container'));
      }
    }
    (container.volumeMounts ?? []).forEach((mount, mountIndex) => {
      for (const name of ['subPath', 'subPathExpr'] as const) {
        if ((mount[name] ?? '') === '') continue;
        const where = path.child('volumeMounts').index(mountIndex).child(name);
        errors.push(field.forbidden(where, 'cannot be set for an Ephemeral Container'));
      }
    });
  });
  return errors;
}

/** Validates rules that apply to pods but, for compatibility, not to templates. */
export function containersOfPod(
  list: readonly Container[] | undefined,
  at: FieldPath,
): FieldErrorList {
  return (list ?? []).flatMap((container, index) => image(container, at.index(index)));
}

export function image(container: Pick<Container, 'image'>, at: FieldPath): FieldErrorList {
  const name = container.image ?? '';
  return name === name.trim()
    ? []
    : [field.invalid(at.child('image'), name, 'must not have leading or trailing whitespace')];
}

function uniqueName(name: string, names: Set<string>, at: FieldPath): FieldErrorList {
  if (names.has(name)) return [field.duplicate(at.child('name'), name)];
  if (name !== '') names.add(name);
  return [];
}

function commonContainer(
  container: Container | EphemeralContainer,
  pod: PodFacts,
  at: FieldPath,
): FieldErrorList {
  return [
    ...(container.name === ''
      ? [field.required(at.child('name'))]
      : invalidEach(at.child('name'), container.name, validation.isDNS1123Label(container.name))),
    ...((container.image ?? '') === '' ? [field.required(at.child('image'))] : []),
    ...oneOf(
      container.terminationMessagePolicy,
      ['File', 'FallbackToLogsOnError'],
      at.child('terminationMessagePolicy'),
    ),
    ...ports(container.ports, at.child('ports')),
    ...env(container.env, at.child('env')),
    ...envFrom(container.envFrom, at.child('envFrom')),
    ...volumeMounts(container, pod.volumes, at.child('volumeMounts')),
    ...volumeDevices(container, pod.volumes, at.child('volumeDevices')),
    ...oneOf(container.imagePullPolicy, PULL_POLICIES, at.child('imagePullPolicy')),
    ...containerResourceRequirements(container.resources, at.child('resources'), pod.claimNames),
    ...resizePolicy(container.resizePolicy, pod.spec.restartPolicy, at.child('resizePolicy')),
    ...securityContext(container.securityContext, pod.spec, at.child('securityContext')),
  ];
}

/** Validates the restart policy of an init container. The rules are checked only with a policy. */
function initRestart(container: Container, at: FieldPath): FieldErrorList {
  const { restartPolicy, restartPolicyRules = [] } = container;
  if (restartPolicy !== undefined) return restart(container, at);
  return restartPolicyRules.length > 0 ? [withoutPolicy(at)] : [];
}

const withoutPolicy = (at: FieldPath): FieldError =>
  field.required(
    at.child('restartPolicy'),
    'must specify restartPolicy when restart rules are used',
  );

/** Validates a container's restart policy and its rules. */
function restart(
  { restartPolicy, restartPolicyRules = [] }: Container,
  at: FieldPath,
): FieldErrorList {
  const errors = optionalOneOf(restartPolicy, RESTART_POLICIES, at.child('restartPolicy'));
  const rulesPath = at.child('restartPolicyRules');
  if (restartPolicyRules.length > 0 && restartPolicy === undefined) errors.push(withoutPolicy(at));
  if (restartPolicyRules.length > MAX_RESTART_RULES) {
    errors.push(field.tooMany(rulesPath, restartPolicyRules.length, MAX_RESTART_RULES));
  }
  restartPolicyRules.forEach(({ action, exitCodes }, index) => {
    const path = rulesPath.index(index);
    errors.push(...optionalOneOf(action ?? '', RESTART_ACTIONS, path.child('action')));
    if (exitCodes === undefined) {
      errors.push(field.required(path.child('exitCodes'), 'must be specified'));
      return;
    }
    const { operator, values = [] } = exitCodes;
    errors.push(
      ...optionalOneOf(operator ?? '', ['In', 'NotIn'], path.child('exitCodes', 'operator')),
    );
    if (values.length > MAX_EXIT_CODES) {
      errors.push(field.tooMany(path.child('exitCodes', 'values'), values.length, MAX_EXIT_CODES));
    }
  });
  return errors;
}

function resizePolicy(
  list: readonly ContainerResizePolicy[] | undefined,
  podRestartPolicy: string | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const resources = new Set<string>();
  (list ?? []).forEach((policy, index) => {
    if (resources.has(policy.resourceName))
      errors.push(field.duplicate(at.index(index), policy.resourceName));
    resources.add(policy.resourceName);
    errors.push(
      ...oneOf(policy.resourceName, ['cpu', 'memory'], at),
      ...oneOf(policy.restartPolicy, ['NotRequired', 'RestartContainer'], at),
    );
    if (podRestartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired') {
      const message = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(field.invalid(at, policy.restartPolicy, message));
    }
  });
  return errors;
}

function ports(list: readonly ContainerPort[] | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (list ?? []).forEach((port, index) => {
    const path = at.index(index);
    if (port.name !== undefined && port.name !== '') {
      const problems = validation.isValidPortName(port.name);
      if (problems.length > 0) errors.push(...invalidEach(path.child('name'), port.name, problems));
      else if (names.has(port.name)) errors.push(field.duplicate(path.child('name'), port.name));
      else names.add(port.name);
    }
    if (port.containerPort === 0) errors.push(field.required(path.child('containerPort')));
    else {
      errors.push(
        ...invalidEach(
          path.child('containerPort'),
          port.containerPort,
          validation.isValidPortNum(port.containerPort),
        ),
      );
    }
    if (port.hostPort !== undefined && port.hostPort !== 0) {
      errors.push(
        ...invalidEach(
          path.child('hostPort'),
          port.hostPort,
          validation.isValidPortNum(port.hostPort),
        ),
      );
    }
    errors.push(...oneOf(port.protocol, ['SCTP', 'TCP', 'UDP'], path.child('protocol')));
  });
  return errors;
}

function hostPortConflicts(list: readonly Container[], at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const usedNames = new Set<string>();
  list.forEach((container, containerIndex) => {
    (container.ports ?? []).forEach((port, index) => {
      if (port.hostPort === undefined || port.hostPort === 0) return;
      const key = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`;
      const path = at.index(containerIndex).child('ports').index(index).child('hostPort');
      if (usedNames.has(key)) errors.push(field.duplicate(path, key));
      usedNames.add(key);
    });
  });
  return errors;
}
