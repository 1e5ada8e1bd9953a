// Rules of containers: ordinary, init and ephemeral.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { Container, ContainerPort, EphemeralContainer, PodSpec, SecurityContext, VolumeMount } from './types.ts';
import { invalidEach, localDescendingPath, oneOf, optionalOneOf } from './common.ts';
import { env, envFrom } from './env.ts';
import { probesAndHooks } from './probes.ts';
import { resourceRequirements } from './resources.ts';
import { securityContext } from './security.ts';

/** What a container's rules need to know of its pod. */
export interface PodFacts {
  readonly volumeNames: ReadonlySet<string>;
  readonly claimNames: ReadonlySet<string>;
  readonly graceSeconds: number | undefined;
  readonly spec: PodSpec;
}

export function containers(list: readonly Container[], pod: PodFacts, at: FieldPath): FieldErrorList {
  if (list.length === 0) return [field.required(at)];
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  list.forEach((container, index) => {
    const path = at.index(index);
    errors.push(...commonContainer(container, pod, path), ...uniqueName(container.name, names, path));
    if (container.restartPolicy !== undefined && container.restartPolicyRules === undefined) {
      errors.push(...optionalOneOf(container.restartPolicy, ['Always', 'Never', 'OnFailure'], path.child('restartPolicy')));
    }
    errors.push(...probesAndHooks(container, pod.graceSeconds, path));
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
    errors.push(...commonContainer(container, pod, path), ...uniqueName(container.name, names, path));
    errors.push(...optionalOneOf(container.restartPolicy, ['Always', 'Never', 'OnFailure'], path.child('restartPolicy')));
    // Only sidecars go on running beside the others; only they can be probed and have hooks.
    if (container.restartPolicy === 'Always') errors.push(...probesAndHooks(container, pod.graceSeconds, path));
    else {
      for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
        if (container[name] !== undefined)
          errors.push(field.forbidden(path.child(name), 'may not be set for init containers without restartPolicy=Always'));
      }
    }
    errors.push(...hostPortConflicts([container], at, index));
  });
  return errors;
}

const NOT_FOR_EPHEMERAL = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resizePolicy'] as const;

export function ephemeralContainers(
  list: readonly EphemeralContainer[],
  others: readonly Container[],
  pod: PodFacts,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set(others.map((container) => container.name));
  list.forEach((container, index) => {
    const path = at.index(index);
    errors.push(...commonContainer(container, pod, path), ...uniqueName(container.name, names, path));
    if (
      container.targetContainerName !== undefined &&
      !pod.spec.containers.some((target) => target.name === container.targetContainerName)
    ) {
      errors.push(field.notFound(path.child('targetContainerName'), container.targetContainerName));
    }
    for (const name of NOT_FOR_EPHEMERAL) {
      if (container[name] !== undefined)
        errors.push(field.forbidden(path.child(name), 'cannot be set for an Ephemeral Container'));
    }
    if (Object.keys(container.resources).length > 0)
      errors.push(field.forbidden(path.child('resources'), 'cannot be set for an Ephemeral Container'));
  });
  return errors;
}

function uniqueName(name: string, names: Set<string>, at: FieldPath): FieldErrorList {
  if (name === '') return [];
  if (names.has(name)) return [field.duplicate(at.child('name'), name)];
  names.add(name);
  return [];
}

function commonContainer(container: Container | EphemeralContainer, pod: PodFacts, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  if (container.name === '') errors.push(field.required(at.child('name')));
  else errors.push(...invalidEach(at.child('name'), container.name, validation.isDNS1123Label(container.name)));
  const image = container.image ?? '';
  if (image.trim() === '') errors.push(field.required(at.child('image')));
  else if (image !== image.trim())
    errors.push(field.invalid(at.child('image'), image, 'must not have leading or trailing whitespace'));
  const policy = container.terminationMessagePolicy;
  if (policy === undefined) errors.push(field.required(at.child('terminationMessagePolicy')));
  else if (policy !== 'File' && policy !== 'FallbackToLogsOnError') {
    errors.push(field.invalid(at.child('terminationMessagePolicy'), policy, "must be 'File' or 'FallbackToLogsOnError'"));
  }
  errors.push(
    ...ports(container.ports, at.child('ports')),
    ...env(container.env, at.child('env')),
    ...envFrom(container.envFrom, at.child('envFrom')),
    ...volumeMounts(container.volumeMounts, container.securityContext, pod.volumeNames, at.child('volumeMounts')),
    ...volumeDevices(container, pod, at.child('volumeDevices')),
    ...oneOf(container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never'], at.child('imagePullPolicy')),
    ...resourceRequirements(container.resources, at.child('resources'), pod.claimNames),
    ...securityContext(container.securityContext, pod.spec, at.child('securityContext')),
  );
  (container.resizePolicy ?? []).forEach((resize, index) => {
    const path = at.child('resizePolicy').index(index);
    errors.push(
      ...oneOf(resize.resourceName, ['cpu', 'memory'], path.child('resourceName')),
      ...oneOf(resize.restartPolicy, ['NotRequired', 'RestartContainer'], path.child('restartPolicy')),
    );
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
    else
      errors.push(...invalidEach(path.child('containerPort'), port.containerPort, validation.isValidPortNum(port.containerPort)));
    if (port.hostPort !== undefined && port.hostPort !== 0) {
      errors.push(...invalidEach(path.child('hostPort'), port.hostPort, validation.isValidPortNum(port.hostPort)));
    }
    errors.push(...oneOf(port.protocol, ['SCTP', 'TCP', 'UDP'], path.child('protocol')));
  });
  return errors;
}

function hostPortConflicts(list: readonly Container[], at: FieldPath, firstIndex = 0): FieldErrorList {
  const errors: FieldErrorList = [];
  const taken = new Set<string>();
  list.forEach((container, containerIndex) => {
    (container.ports ?? []).forEach((port, index) => {
      if (port.hostPort === undefined || port.hostPort === 0) return;
      const key = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key))
        errors.push(
          field.duplicate(
            at
              .index(firstIndex + containerIndex)
              .child('ports')
              .index(index)
              .child('hostPort'),
            key,
          ),
        );
      taken.add(key);
    });
  });
  return errors;
}

function volumeMounts(
  list: readonly VolumeMount[] | undefined,
  security: SecurityContext | undefined,
  volumeNames: ReadonlySet<string>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const mountPaths = new Set<string>();
  (list ?? []).forEach((mount, index) => {
    const path = at.index(index);
    if (mount.name === '') errors.push(field.required(path.child('name')));
    if (!volumeNames.has(mount.name)) errors.push(field.notFound(path.child('name'), mount.name));
    if (mount.mountPath === '') errors.push(field.required(path.child('mountPath')));
    if (mountPaths.has(mount.mountPath)) errors.push(field.invalid(path.child('mountPath'), mount.mountPath, 'must be unique'));
    mountPaths.add(mount.mountPath);
    if (mount.subPath !== undefined) errors.push(...localDescendingPath(mount.subPath, path.child('subPath')));
    if (mount.subPathExpr !== undefined) {
      if (mount.subPath !== undefined)
        errors.push(
          field.invalid(path.child('subPathExpr'), mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive'),
        );
      errors.push(...localDescendingPath(mount.subPathExpr, path.child('subPathExpr')));
    }
    if (mount.mountPropagation !== undefined) {
      errors.push(...oneOf(mount.mountPropagation, ['Bidirectional', 'HostToContainer', 'None'], path.child('mountPropagation')));
      if (mount.mountPropagation === 'Bidirectional' && security?.privileged !== true) {
        errors.push(
          field.forbidden(
            path.child('mountPropagation'),
            'Bidirectional mount propagation is available only to privileged containers',
          ),
        );
      }
    }
    if (mount.recursiveReadOnly !== undefined) {
      errors.push(...oneOf(mount.recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible'], path.child('recursiveReadOnly')));
      if (mount.recursiveReadOnly !== 'Disabled' && mount.readOnly !== true) {
        errors.push(field.forbidden(path.child('recursiveReadOnly'), 'may only be specified when readOnly is true'));
      }
    }
  });
  return errors;
}

function volumeDevices(container: Container | EphemeralContainer, pod: PodFacts, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const mounted = new Set((container.volumeMounts ?? []).map((mount) => mount.name));
  const paths = new Set<string>();
  const names = new Set<string>();
  (container.volumeDevices ?? []).forEach((device, index) => {
    const path = at.index(index);
    if (device.name === '') errors.push(field.required(path.child('name')));
    if (device.devicePath === '') errors.push(field.required(path.child('devicePath')));
    else if (paths.has(device.devicePath))
      errors.push(field.invalid(path.child('devicePath'), device.devicePath, 'must be unique'));
    paths.add(device.devicePath);
    if (names.has(device.name)) errors.push(field.invalid(path.child('name'), device.name, 'must be unique'));
    names.add(device.name);
    if (device.name !== '' && !pod.volumeNames.has(device.name)) errors.push(field.notFound(path.child('name'), device.name));
    if (mounted.has(device.name))
      errors.push(field.invalid(path.child('name'), device.name, 'must not already exist in volumeMounts'));
  });
  return errors;
}
