// Validation of mounts: volumes as directories and as raw devices.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Container, EphemeralContainer, Volume, VolumeMount } from './types.ts';
import { localDescendingPath, noBacksteps, optionalOneOf } from './common.ts';

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];
const RECURSIVE_READ_ONLY = ['Disabled', 'Enabled', 'IfPossible'];

export function volumeMounts(
  container: Container | EphemeralContainer,
  volumes: ReadonlyMap<string, Volume>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const mountPaths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  (container.volumeMounts ?? []).forEach((mount, index) => {
    const path = at.index(index);
    const { name, mountPath, subPath = '', subPathExpr = '' } = mount;
    if (name === '') errors.push(field.required(path.child('name')));
    if (!volumes.has(name)) errors.push(field.notFound(path.child('name'), name));
    if (mountPath === '') errors.push(field.required(path.child('mountPath')));
    if (mountPaths.has(mountPath))
      errors.push(field.invalid(path.child('mountPath'), mountPath, 'must be unique'));
    mountPaths.add(mountPath);
    if (devices.some((device) => device.name === name)) {
      errors.push(
        field.invalid(path.child('name'), name, 'must not already exist in volumeDevices'),
      );
    }
    if (devices.some((device) => device.devicePath === mountPath)) {
      errors.push(
        field.invalid(
          path.child('mountPath'),
          mountPath,
          'must not already exist as a path in volumeDevices',
        ),
      );
    }
    if (subPath !== '') errors.push(...localDescendingPath(subPath, at.child('subPath')));
    if (subPathExpr !== '') {
      if (subPath !== '') {
        errors.push(
          field.invalid(
            path.child('subPathExpr'),
            subPathExpr,
            'subPathExpr and subPath are mutually exclusive',
          ),
        );
      }
      errors.push(...localDescendingPath(subPathExpr, at.child('subPathExpr')));
    }
    errors.push(...propagation(mount, container, at.child('mountPropagation')));
    errors.push(...recursiveReadOnly(mount, at.child('recursiveReadOnly')));
  });
  return errors;
}

function propagation(
  { mountPropagation }: VolumeMount,
  { securityContext }: Container | EphemeralContainer,
  at: FieldPath,
): FieldErrorList {
  const errors = optionalOneOf(mountPropagation, PROPAGATIONS, at);
  if (mountPropagation === 'Bidirectional' && securityContext?.privileged !== true) {
    errors.push(
      field.forbidden(
        at,
        'Bidirectional mount propagation is available only to privileged containers',
      ),
    );
  }
  return errors;
}

function recursiveReadOnly(mount: VolumeMount, at: FieldPath): FieldErrorList {
  const { recursiveReadOnly: wish, mountPropagation } = mount;
  if (wish === undefined || wish === 'Disabled') return [];
  const errors = optionalOneOf(wish, RECURSIVE_READ_ONLY, at);
  if (errors.length > 0) return errors;
  if (mount.readOnly !== true)
    errors.push(field.forbidden(at, 'may only be specified when readOnly is true'));
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    errors.push(
      field.forbidden(at, 'may only be specified when mountPropagation is None or not specified'),
    );
  }
  return errors;
}

export function volumeDevices(
  container: Container | EphemeralContainer,
  volumes: ReadonlyMap<string, Volume>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const paths = new Set<string>();
  const names = new Set<string>();
  const mounts = container.volumeMounts ?? [];
  (container.volumeDevices ?? []).forEach(({ name, devicePath }, index) => {
    const path = at.index(index);
    const volume = volumes.get(name);
    if (name === '') errors.push(field.required(path.child('name')));
    if (names.has(name)) errors.push(field.invalid(path.child('name'), name, 'must be unique'));
    if (volume === undefined) errors.push(field.notFound(path.child('name'), name));
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const message =
        'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      errors.push(field.invalid(path.child('name'), name, message));
    }
    if (devicePath === '') errors.push(field.required(path.child('devicePath')));
    if (paths.has(devicePath))
      errors.push(field.invalid(path.child('devicePath'), devicePath, 'must be unique'));
    if (noBacksteps(devicePath, path).length > 0) {
      errors.push(
        field.invalid(path.child('devicePath'), devicePath, "can not contain backsteps ('..')"),
      );
    } else paths.add(devicePath);
    if (mounts.some((mount) => mount.name === name)) {
      errors.push(
        field.invalid(path.child('name'), name, 'must not already exist in volumeMounts'),
      );
    }
    if (mounts.some((mount) => mount.mountPath === devicePath)) {
      errors.push(
        field.invalid(
          path.child('devicePath'),
          devicePath,
          'must not already exist as a path in volumeMounts',
        ),
      );
    }
    if (name !== '') names.add(name);
  });
  return errors;
}
