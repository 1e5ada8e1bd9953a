// Validation of volumes by their source.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Volume } from './types.ts';
import { claimTemplate } from './claims.ts';
import {
  fileMode,
  invalidEach,
  localDescendingPath,
  noBacksteps,
  nonEmpty,
  oneOf,
  optionalOneOf,
} from './common.ts';
import { PULL_POLICIES } from './containers.ts';
import { downwardFile, keysToPaths, projections } from './projections.ts';

export interface ValidatedVolumes {
  readonly errors: FieldErrorList;
  /** The volumes without errors, by name. */
  readonly volumes: ReadonlyMap<string, Volume>;
}

/** The properties of a pod that the rules of volumes and claims use. */
export interface VolumeOwner {
  /** '' for a template, and while the name is unknown. */
  readonly podName: string;
  readonly isPod: boolean;
  /** The pod is the mirror of a static pod. */
  readonly isMirror: boolean;
  /** The stored pod may require node labels with impossible values. */
  readonly anyNodeValues?: boolean;
  /** The stored pod has an SELinux policy. */
  readonly anySELinuxPolicy?: boolean;
  /** The stored pod has an init container, other than a sidecar, that restarts for a resize. */
  readonly restartingInit?: boolean;
}

export function volumes(
  list: readonly Volume[] | undefined,
  owner: VolumeOwner,
  at: FieldPath,
): ValidatedVolumes {
  const errors: FieldErrorList = [];
  const good = new Map<string, Volume>();
  const created = new Set(
    owner.podName === ''
      ? []
      : (list ?? [])
          .filter(({ ephemeral }) => ephemeral !== undefined)
          .map(({ name }) => `${owner.podName}-${name}`),
  );
  (list ?? []).forEach((volume, index) => {
    const path = at.index(index);
    const { name } = volume;
    const problems = volumeSource(volume, owner, path);
    if (name === '') problems.push(field.required(path.child('name')));
    else problems.push(...invalidEach(path.child('name'), name, validation.isDNS1123Label(name)));
    if (good.has(name)) problems.push(field.duplicate(path.child('name'), name));
    if (problems.length === 0) good.set(name, volume);
    errors.push(...problems);
    const { claimName = '' } = volume.persistentVolumeClaim ?? {};
    if (created.has(claimName)) {
      const message = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(
        field.invalid(path.child('persistentVolumeClaim', 'claimName'), claimName, message),
      );
    }
  });
  return { errors, volumes: good };
}

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const AZURE_CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite'];
const AZURE_KINDS = ['Dedicated', 'Managed', 'Shared'];
const AZURE_MANAGED_URI =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const AZURE_BLOB_URI =
  'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';
const MAX_CSI_DRIVER_NAME = 63;

type Sources = {
  readonly [K in keyof Omit<Volume, 'name'>]-?: (
    source: NonNullable<Volume[K]>,
    at: FieldPath,
    owner: VolumeOwner,
  ) => FieldErrorList;
};

/** The order is the order of the checks. If several sources are set, the first one is validated. */
export const SOURCES: Sources = {
  emptyDir: ({ sizeLimit }, at) =>
    sizeLimit !== undefined && parseQuantity(sizeLimit).sign() < 0
      ? [
          field.forbidden(
            at.child('sizeLimit'),
            'SizeLimit field must be a valid resource quantity',
          ),
        ]
      : [],
  hostPath: ({ path, type }, at) =>
    path === ''
      ? [field.required(at.child('path'))]
      : [
          ...noBacksteps(path, at.child('path')),
          ...optionalOneOf(type, HOST_PATH_TYPES, at.child('type')),
        ],
  gitRepo: ({ repository, directory = '' }, at) => [
    ...nonEmpty(repository, at.child('repository')),
    ...localDescendingPath(directory, at.child('directory')),
  ],
  gcePersistentDisk: ({ pdName, partition }, at) => [
    ...nonEmpty(pdName, at.child('pdName')),
    ...partitionNumber(partition, at.child('partition')),
  ],
  awsElasticBlockStore: ({ volumeID, partition }, at) => [
    ...nonEmpty(volumeID, at.child('volumeID')),
    ...partitionNumber(partition, at.child('partition')),
  ],
  secret: (source, at) => [
    ...nonEmpty(source.secretName, at.child('secretName')),
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...keysToPaths(source.items, at.child('items')),
  ],
  nfs: ({ server, path }, at) => [
    ...nonEmpty(server, at.child('server')),
    ...nonEmpty(path, at.child('path')),
    ...(path.startsWith('/')
      ? []
      : [field.invalid(at.child('path'), path, 'must be an absolute path')]),
  ],
  iscsi: (source, at) => [
    ...nonEmpty(source.targetPortal, at.child('targetPortal')),
    ...(source.iqn === ''
      ? [field.required(at.child('iqn'))]
      : iscsiName(source.iqn, at.child('iqn'))),
    ...(source.lun < 0 || source.lun > 255
      ? invalidEach(at.child('lun'), source.lun, validation.isInRange(source.lun, 0, 255))
      : []),
    ...((source.chapAuthDiscovery === true || source.chapAuthSession === true) &&
    source.secretRef === undefined
      ? [field.required(at.child('secretRef'))]
      : []),
    ...(source.initiatorName === undefined
      ? []
      : iscsiName(source.initiatorName, at.child('initiatorname'))),
  ],
  glusterfs: ({ endpoints, path }, at) => [
    ...nonEmpty(endpoints, at.child('endpoints')),
    ...nonEmpty(path, at.child('path')),
  ],
  flocker: ({ datasetName = '', datasetUUID = '' }, at) => [
    ...(datasetName === '' && datasetUUID === ''
      ? [field.required(at, 'one of datasetName and datasetUUID is required')]
      : []),
    ...(datasetName !== '' && datasetUUID !== ''
      ? [
          field.invalid(
            at,
            'resource',
            'datasetName and datasetUUID can not be specified simultaneously',
          ),
        ]
      : []),
    ...(datasetName.includes('/')
      ? [field.invalid(at.child('datasetName'), datasetName, "must not contain '/'")]
      : []),
  ],
  persistentVolumeClaim: ({ claimName }, at) => nonEmpty(claimName, at.child('claimName')),
  rbd: ({ monitors, image }, at) => [
    ...((monitors ?? []).length === 0 ? [field.required(at.child('monitors'))] : []),
    ...nonEmpty(image, at.child('image')),
  ],
  cinder: ({ volumeID, secretRef }, at) => [
    ...nonEmpty(volumeID, at.child('volumeID')),
    ...(secretRef === undefined ? [] : nonEmpty(secretRef.name, at.child('secretRef', 'name'))),
  ],
  cephfs: ({ monitors }, at) =>
    (monitors ?? []).length === 0 ? [field.required(at.child('monitors'))] : [],
  quobyte: (source, at) => {
    const errors: FieldErrorList = [];
    const message = 'must be a host:port pair or multiple pairs separated by commas';
    if (source.registry === '') errors.push(field.required(at.child('registry'), message));
    else if ((source.tenant ?? '').length > 64) {
      errors.push(
        field.required(
          at.child('tenant'),
          'must be a UUID and may not exceed a length of 64 characters',
        ),
      );
    } else {
      for (const pair of source.registry.split(',')) {
        if (!/^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) {
          errors.push(field.invalid(at.child('registry'), source.registry, message));
        }
      }
    }
    errors.push(...nonEmpty(source.volume, at.child('volume')));
    return errors;
  },
  downwardAPI: (source, at) => [
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...(source.items ?? []).flatMap((file) => downwardFile(file, at)),
  ],
  fc: ({ targetWWNs = [], wwids = [], lun }, at) => {
    const errors: FieldErrorList = [];
    const path = at.child('targetWWNs');
    if (targetWWNs.length === 0 && wwids.length === 0) {
      errors.push(field.required(path, 'must specify either targetWWNs or wwids, but not both'));
    }
    if (targetWWNs.length > 0 && wwids.length > 0) {
      errors.push(
        field.invalid(path, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'),
      );
    }
    if (targetWWNs.length > 0) {
      if (lun === undefined)
        errors.push(field.required(at.child('lun'), 'lun is required if targetWWNs is specified'));
      else errors.push(...invalidEach(at.child('lun'), lun, validation.isInRange(lun, 0, 255)));
    }
    return errors;
  },
  flexVolume: ({ driver, options }, at) => [
    ...nonEmpty(driver, at.child('driver')),
    ...Object.keys(options ?? {}).flatMap((key) => {
      const domain = `.${key.split('/')[0]!.toLowerCase()}`;
      if (!domain.endsWith('.kubernetes.io') && !domain.endsWith('.k8s.io')) return [];
      return [
        field.invalid(
          at.child('options').key(key),
          key,
          'kubernetes.io and k8s.io namespaces are reserved',
        ),
      ];
    }),
  ],
  configMap: (source, at) => [
    ...nonEmpty(source.name, at.child('name')),
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...keysToPaths(source.items, at.child('items')),
  ],
  azureFile: ({ secretName, shareName }, at) => [
    ...nonEmpty(secretName, at.child('secretName')),
    ...nonEmpty(shareName, at.child('shareName')),
  ],
  vsphereVolume: ({ volumePath }, at) => nonEmpty(volumePath, at.child('volumePath')),
  photonPersistentDisk: ({ pdID }, at) => nonEmpty(pdID, at.child('pdID')),
  portworxVolume: ({ volumeID }, at) => nonEmpty(volumeID, at.child('volumeID')),
  azureDisk: ({ diskName, diskURI, cachingMode, kind }, at) => {
    const [prefix, form] =
      kind === 'Managed' ? ['/subscriptions/', AZURE_MANAGED_URI] : ['https://', AZURE_BLOB_URI];
    return [
      ...nonEmpty(diskName, at.child('diskName')),
      ...nonEmpty(diskURI, at.child('diskURI')),
      ...optionalOneOf(cachingMode, AZURE_CACHING_MODES, at.child('cachingMode')),
      ...optionalOneOf(kind, AZURE_KINDS, at.child('kind')),
      ...(kind === undefined || diskURI.startsWith(prefix)
        ? []
        : [field.notSupported(at.child('diskURI'), diskURI, [form])]),
    ];
  },
  storageos: ({ volumeName = '', volumeNamespace = '', secretRef }, at) => [
    ...(volumeName === ''
      ? [field.required(at.child('volumeName'))]
      : invalidEach(at.child('volumeName'), volumeName, validation.isDNS1123Label(volumeName))),
    ...(volumeNamespace === ''
      ? []
      : invalidEach(
          at.child('volumeNamespace'),
          volumeNamespace,
          validation.isDNS1123Label(volumeNamespace),
        )),
    ...(secretRef === undefined ? [] : nonEmpty(secretRef.name, at.child('secretRef', 'name'))),
  ],
  projected: (source, at) => [
    ...fileMode(source.defaultMode, at.child('defaultMode')),
    ...projections(source, at),
  ],
  scaleIO: ({ gateway, system, volumeName }, at) => [
    ...nonEmpty(gateway, at.child('gateway')),
    ...nonEmpty(system, at.child('system')),
    ...nonEmpty(volumeName, at.child('volumeName')),
  ],
  csi: ({ driver, nodePublishSecretRef }, at) => {
    const errors = csiDriverName(driver, at.child('driver'));
    const { name = '' } = nodePublishSecretRef ?? {};
    if (nodePublishSecretRef === undefined) return errors;
    if (name === '') return [...errors, field.required(at.child('nodePublishSecretRef', 'name'))];
    // As in upstream, the path of the error lacks nodePublishSecretRef.
    return [...errors, ...invalidEach(at.child('name'), name, validation.isDNS1123Subdomain(name))];
  },
  ephemeral: ({ volumeClaimTemplate }, at) => {
    const path = at.child('volumeClaimTemplate');
    return volumeClaimTemplate === undefined
      ? [field.required(path)]
      : claimTemplate(volumeClaimTemplate, path);
  },
  image: ({ reference, pullPolicy }, at, owner) => [
    ...(owner.isPod ? nonEmpty(reference, at.child('reference')) : []),
    ...oneOf(pullPolicy, PULL_POLICIES, at.child('pullPolicy')),
  ],
};

/** Sources whose errors have another path than their name. */
export const PATHS: Partial<Record<keyof Sources, string>> = {
  gcePersistentDisk: 'persistentDisk',
};
/** Sources whose names in the error for several sources have upstream's spelling. */
const SURPLUS_PATHS: Partial<Record<keyof Sources, string>> = {
  cephfs: 'cephFS',
  downwardAPI: 'downwarAPI',
};

function volumeSource(volume: Volume, owner: VolumeOwner, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let sources = 0;
  for (const name of Object.keys(SOURCES) as (keyof Sources)[]) {
    const source = volume[name];
    if (source === undefined) continue;
    const first = sources++ === 0;
    if (first) {
      const check = SOURCES[name] as (
        source: unknown,
        at: FieldPath,
        owner: VolumeOwner,
      ) => FieldErrorList;
      errors.push(...check(source, at.child(PATHS[name] ?? name), owner));
    } else
      errors.push(
        field.forbidden(
          at.child(SURPLUS_PATHS[name] ?? name),
          'may not specify more than 1 volume type',
        ),
      );
    if (name === 'iscsi' && volume.iscsi !== undefined) {
      errors.push(...iscsiNameLength(volume.name, volume.iscsi, volume.name, at.child('name')));
    }
    if (name === 'ephemeral' && first)
      errors.push(...claimName(volume.name, owner, at.child('name')));
  }
  if (sources === 0) errors.push(field.required(at, 'must specify a volume type'));
  return errors;
}

/** Validates the name of a driver: a domain name, in which upper case is allowed. */
export function csiDriverName(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  return [
    ...(name.length > MAX_CSI_DRIVER_NAME ? [field.tooLong(at, name, MAX_CSI_DRIVER_NAME)] : []),
    ...invalidEach(at, name, validation.isDNS1123Subdomain(name.toLowerCase())),
  ];
}

const MAX_ISCSI_NAME = 64;

/** Validates the name of the pod's claim, which consists of the pod's and the volume's name. */
function claimName(name: string, { podName }: VolumeOwner, at: FieldPath): FieldErrorList {
  if (podName === '' || name === '') return [];
  const claim = `${podName}-${name}`;
  const problems = validation
    .isDNS1123Subdomain(claim)
    .map((problem) => `PVC name ${JSON.stringify(claim)}: ${problem}`);
  return invalidEach(at, name, problems);
}

/**
 * Validates the length of the name that is made of the volume's name and its portal. `value`: the
 * part at `at`.
 */
export function iscsiNameLength(
  name: string,
  { initiatorName, targetPortal }: Portal,
  value: string,
  at: FieldPath,
): FieldErrorList {
  if (initiatorName === undefined || `${name}:${targetPortal}`.length <= MAX_ISCSI_NAME) return [];
  const message =
    'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if ' +
    'iscsi.initiatorName is specified.';
  return [field.invalid(at, value, message)];
}

interface Portal {
  readonly initiatorName?: string;
  readonly targetPortal: string;
}

function partitionNumber(value: number | undefined, at: FieldPath): FieldErrorList {
  return value !== undefined && (value < 0 || value > 255)
    ? invalidEach(at, value, validation.isInRange(value, 1, 255))
    : [];
}

const ISCSI_NAMES: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[a-zA-Z0-9]{16}$/,
  naa: /^naa.[a-zA-Z0-9]{32}$/,
};
const OTHER_ISCSI_NAME = 'must be valid format starting with iqn, eui, or naa';

/** Validates an iSCSI name. `other`: the message for a name of neither form. */
export function iscsiName(name: string, at: FieldPath, other = OTHER_ISCSI_NAME): FieldErrorList {
  const form = ISCSI_NAMES[name.slice(0, 3)];
  if (form === undefined) return [field.invalid(at, name, other)];
  return form.test(name) ? [] : [field.invalid(at, name, 'must be valid format')];
}
