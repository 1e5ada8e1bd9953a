// Rules of volumes.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { parseQuantity } from '../../../../machinery/quantity.ts';
import * as validation from '../../../../machinery/validation.ts';
import type {
  ConfigMapProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  SecretProjection,
  ServiceAccountTokenProjection,
  Volume,
} from './types.ts';
import { fieldRef, resourceFieldRef, VOLUME_FIELD_PATHS } from './env.ts';
import { fileMode, invalidEach, localNonReservedPath, noBacksteps, oneOf, optionalOneOf, referenceName } from './common.ts';

const HOST_PATH_TYPES = ['BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'];

export interface ValidatedVolumes {
  readonly errors: FieldErrorList;
  readonly names: ReadonlySet<string>;
}

export function volumes(list: readonly Volume[] | undefined, at: FieldPath): ValidatedVolumes {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (list ?? []).forEach((volume, index) => {
    const path = at.index(index);
    const problems = volumeSource(volume, path);
    if (volume.name === '') problems.push(field.required(path.child('name')));
    else problems.push(...invalidEach(path.child('name'), volume.name, validation.isDNS1123Label(volume.name)));
    if (volume.name !== '' && names.has(volume.name)) problems.push(field.duplicate(path.child('name'), volume.name));
    if (problems.length === 0) names.add(volume.name);
    errors.push(...problems);
  });
  return { errors, names };
}

/** What each kind of source must have; a source that is not here has nothing that the API server checks. */
const SOURCES: {
  readonly [K in keyof Omit<Volume, 'name'>]-?: (source: NonNullable<Volume[K]>, at: FieldPath) => FieldErrorList;
} = {
  emptyDir: (source, at) =>
    source.sizeLimit !== undefined && parseQuantity(source.sizeLimit).sign() < 0
      ? [field.forbidden(at.child('sizeLimit'), 'SizeLimit field must be a valid resource quantity')]
      : [],
  hostPath: (source, at) => [
    ...(source.path === '' ? [field.required(at.child('path'))] : noBacksteps(source.path, at.child('path'))),
    ...optionalOneOf(source.type, HOST_PATH_TYPES, at.child('type')),
  ],
  secret: (source, at) => [
    ...referenceName(source.secretName, at.child('secretName')),
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...keysToPaths(source.items, at.child('items')),
  ],
  configMap: (source, at) => [
    ...referenceName(source.name, at.child('name')),
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...keysToPaths(source.items, at.child('items')),
  ],
  downwardAPI: (source, at) => [...fileMode(source.defaultMode, at.child('defaultMode')), ...downwardFiles(source.items, at)],
  projected: (source, at) => [...fileMode(source.defaultMode, at.child('defaultMode')), ...projections(source, at)],
  persistentVolumeClaim: (source, at) => referenceName(source.claimName, at.child('claimName')),
  nfs: (source, at) => [
    ...referenceName(source.server, at.child('server')),
    ...referenceName(source.path, at.child('path')),
    ...(source.path !== '' && !source.path.startsWith('/')
      ? [field.invalid(at.child('path'), source.path, 'must be an absolute path')]
      : []),
  ],
  csi: (source, at) => referenceName(source.driver, at.child('driver')),
  ephemeral: (source, at) => (source.volumeClaimTemplate === undefined ? [field.required(at.child('volumeClaimTemplate'))] : []),
  image: (source, at) => [
    ...referenceName(source.reference, at.child('reference')),
    ...oneOf(source.pullPolicy, ['Always', 'IfNotPresent', 'Never'], at.child('pullPolicy')),
  ],
  gitRepo: (source, at) => referenceName(source.repository, at.child('repository')),
  gcePersistentDisk: (source, at) => referenceName(source.pdName, at.child('pdName')),
  awsElasticBlockStore: (source, at) => referenceName(source.volumeID, at.child('volumeID')),
  azureFile: (source, at) => [
    ...referenceName(source.secretName, at.child('secretName')),
    ...referenceName(source.shareName, at.child('shareName')),
  ],
  azureDisk: (source, at) => [
    ...referenceName(source.diskName, at.child('diskName')),
    ...referenceName(source.diskURI, at.child('diskURI')),
  ],
  cinder: (source, at) => referenceName(source.volumeID, at.child('volumeID')),
  cephfs: (source, at) => ((source.monitors ?? []).length === 0 ? [field.required(at.child('monitors'))] : []),
  fc: (source, at) =>
    (source.targetWWNs ?? []).length === 0 && (source.wwids ?? []).length === 0
      ? [field.required(at.child('targetWWNs'), 'must specify either targetWWNs or wwids, but not both')]
      : [],
  flexVolume: (source, at) => referenceName(source.driver, at.child('driver')),
  flocker: (source, at) =>
    source.datasetName === undefined && source.datasetUUID === undefined
      ? [field.required(at, 'one of datasetName and datasetUUID is required')]
      : [],
  glusterfs: (source, at) => [
    ...referenceName(source.endpoints, at.child('endpoints')),
    ...referenceName(source.path, at.child('path')),
  ],
  iscsi: (source, at) => [
    ...referenceName(source.targetPortal, at.child('targetPortal')),
    ...referenceName(source.iqn, at.child('iqn')),
  ],
  photonPersistentDisk: (source, at) => referenceName(source.pdID, at.child('pdID')),
  portworxVolume: (source, at) => referenceName(source.volumeID, at.child('volumeID')),
  quobyte: (source, at) => [
    ...referenceName(source.registry, at.child('registry')),
    ...referenceName(source.volume, at.child('volume')),
  ],
  rbd: (source, at) => [
    ...((source.monitors ?? []).length === 0 ? [field.required(at.child('monitors'))] : []),
    ...referenceName(source.image, at.child('image')),
  ],
  scaleIO: (source, at) => [
    ...referenceName(source.gateway, at.child('gateway')),
    ...referenceName(source.system, at.child('system')),
    ...referenceName(source.volumeName, at.child('volumeName')),
  ],
  storageos: () => [],
  vsphereVolume: (source, at) => referenceName(source.volumePath, at.child('volumePath')),
};

function volumeSource(volume: Volume, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let sources = 0;
  for (const name of Object.keys(SOURCES) as (keyof typeof SOURCES)[]) {
    const source = volume[name];
    if (source === undefined) continue;
    if (sources++ > 0) errors.push(field.forbidden(at.child(name), 'may not specify more than 1 volume type'));
    else errors.push(...(SOURCES[name] as (source: unknown, at: FieldPath) => FieldErrorList)(source, at.child(name)));
  }
  if (sources === 0) errors.push(field.required(at, 'must specify a volume type'));
  return errors;
}

function keysToPaths(items: readonly KeyToPath[] | undefined, at: FieldPath): FieldErrorList {
  return (items ?? []).flatMap((item, index) => {
    const path = at.index(index);
    return [
      ...(item.key === '' ? [field.required(path.child('key'))] : []),
      ...(item.path === '' ? [field.required(path.child('path'))] : localNonReservedPath(item.path, path.child('path'))),
      ...fileMode(item.mode, path.child('mode')),
    ];
  });
}

function downwardFiles(items: readonly DownwardAPIVolumeFile[] | undefined, at: FieldPath): FieldErrorList {
  return (items ?? []).flatMap((file) => {
    const errors: FieldErrorList = [];
    if (file.path === '') errors.push(field.required(at.child('path')));
    else errors.push(...localNonReservedPath(file.path, at.child('path')));
    if (file.fieldRef !== undefined) {
      errors.push(...fieldRef(file.fieldRef, VOLUME_FIELD_PATHS, at.child('fieldRef')));
      if (file.resourceFieldRef !== undefined)
        errors.push(field.invalid(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    } else if (file.resourceFieldRef !== undefined) {
      errors.push(...resourceFieldRef(file.resourceFieldRef, true, at.child('resourceFieldRef')));
    } else {
      errors.push(field.required(at.child('fieldRef'), 'one of fieldRef and resourceFieldRef is required'));
    }
    errors.push(...fileMode(file.mode, at.child('mode')));
    return errors;
  });
}

function projections(volume: ProjectedVolumeSource, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const paths = new Set<string>();
  const conflict = (path: string, fieldPath: FieldPath): void => {
    if (paths.has(path)) errors.push(field.invalid(fieldPath, path, 'conflicting duplicate paths'));
    paths.add(path);
  };
  (volume.sources ?? []).forEach((source, index) => {
    const path = at.child('sources').index(index);
    const given = Object.keys(source);
    if (given.length > 1) errors.push(field.forbidden(path, 'may not specify more than 1 volume type'));
    const withItems = (projection: SecretProjection | ConfigMapProjection, projectionPath: FieldPath): void => {
      errors.push(
        ...referenceName(projection.name, projectionPath.child('name')),
        ...keysToPaths(projection.items, projectionPath.child('items')),
      );
      for (const item of projection.items ?? []) if (item.path !== '') conflict(item.path, projectionPath);
    };
    if (source.secret !== undefined) withItems(source.secret, path.child('secret'));
    if (source.configMap !== undefined) withItems(source.configMap, path.child('configMap'));
    if (source.downwardAPI !== undefined) {
      errors.push(...downwardFiles(source.downwardAPI.items, path.child('downwardAPI')));
      for (const item of source.downwardAPI.items ?? []) if (item.path !== '') conflict(item.path, path.child('downwardAPI'));
    }
    if (source.serviceAccountToken !== undefined) {
      errors.push(...tokenProjection(source.serviceAccountToken, path.child('serviceAccountToken')));
      if (source.serviceAccountToken.path !== '') conflict(source.serviceAccountToken.path, path.child('serviceAccountToken'));
    }
    if (given.length === 0) errors.push(field.required(path, 'must specify a volume type'));
  });
  return errors;
}

function tokenProjection(token: ServiceAccountTokenProjection, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const seconds = token.expirationSeconds ?? 3600;
  if (seconds < 600)
    errors.push(field.invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > 2 ** 32)
    errors.push(field.invalid(at.child('expirationSeconds'), seconds, 'may not specify a duration larger than 2^32 seconds'));
  if (token.path === '') errors.push(field.required(at.child('path')));
  else errors.push(...localNonReservedPath(token.path, at.child('path')));
  return errors;
}
