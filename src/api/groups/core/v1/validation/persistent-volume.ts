// Validation of persistent volumes. Most sources are those of pods. Some refer to secrets
// differently, since a volume has no namespace.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  PersistentVolume,
  PersistentVolumeSource,
  PersistentVolumeSpec,
  SecretReference,
  Volume,
} from './types.ts';
import { accessModes, VOLUME_MODES } from './claims.ts';
import { immutable, invalidEach, noBacksteps, nonEmpty, optionalOneOf } from './common.ts';
import { asksForImpossibleValues, nodeSelector } from './scheduling.ts';
import {
  csiDriverName,
  iscsiName,
  iscsiNameLength,
  PATHS,
  SOURCES as POD_SOURCES,
  type VolumeOwner,
} from './volumes.ts';

const SPEC = field.path('spec');
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
const MOUNT_OPTIONS = 'volume.beta.kubernetes.io/mount-options';

export function validatePersistentVolume(
  volume: PersistentVolume,
  old?: PersistentVolume,
): FieldErrorList {
  // Values that are older than the rule are accepted.
  const anyValues = asksForImpossibleValues(old?.spec.nodeAffinity?.required);
  return [
    ...volumeSpec(volume.spec, volume.metadata.name, { anyValues }, SPEC),
    ...mountOptions(volume),
  ];
}

/** Validates an update: the source of a volume must not change. */
export function validatePersistentVolumeUpdate(
  volume: PersistentVolume,
  old: PersistentVolume,
): FieldErrorList {
  const errors = validatePersistentVolume(volume, old);
  if (!semanticEqual(sourceForUpdate(volume, old), sourceOf(old.spec))) {
    const message = 'spec.persistentvolumesource is immutable after creation';
    errors.push(field.forbidden(SPEC.child('persistentvolumesource'), message));
  }
  errors.push(
    ...immutable(
      volume.spec.volumeMode,
      old.spec.volumeMode,
      field.path('volumeMode'),
      semanticEqual,
    ),
  );
  if (old.spec.nodeAffinity !== undefined) {
    const affinity = withOldLabels(volume.spec.nodeAffinity, old.spec.nodeAffinity);
    if (!semanticEqual(affinity, old.spec.nodeAffinity)) {
      const message = 'field is immutable, except for updating from beta label to GA';
      errors.push(
        field.invalid(field.path('nodeAffinity'), volume.spec.nodeAffinity ?? null, message),
      );
    }
  }
  if (
    old.spec.volumeAttributesClassName !== undefined &&
    volume.spec.volumeAttributesClassName === undefined
  ) {
    errors.push(
      field.forbidden(
        SPEC.child('volumeAttributesClassName'),
        'update from non-nil value to nil is forbidden',
      ),
    );
  }
  return errors;
}

/** Validates an inline volume in an attachment, which drivers use only to attach and detach it. */
export function inlineVolumeSpec(spec: PersistentVolumeSpec, at: FieldPath): FieldErrorList {
  const NOT_INLINE = 'may not be specified in the context of inline volumes';
  const errors: FieldErrorList = [];
  const forbid = (name: string, message = NOT_INLINE): void => {
    errors.push(field.forbidden(at.child(name), message));
  };
  if (spec.claimRef !== undefined) forbid('claimRef');
  if (Object.keys(spec.capacity ?? {}).length > 0) forbid('capacity');
  if (spec.csi === undefined)
    errors.push(
      field.required(at.child('csi'), 'has to be specified in the context of inline volumes'),
    );
  errors.push(...modes(spec, at));
  if ((spec.persistentVolumeReclaimPolicy ?? 'Retain') !== 'Retain') {
    forbid('persistentVolumeReclaimPolicy', 'may only be Retain in the context of inline volumes');
  }
  if (spec.nodeAffinity !== undefined) forbid('nodeAffinity');
  errors.push(...sources(spec, '', false, at));
  if ((spec.storageClassName ?? '') !== '') forbid('storageClassName');
  if ((spec.volumeMode ?? 'Filesystem') !== 'Filesystem') {
    forbid(
      'volumeMode',
      'may not specify volumeMode other than Filesystem in the context of inline volumes',
    );
  }
  return errors;
}

function volumeSpec(
  spec: PersistentVolumeSpec,
  name: string,
  rules: { readonly anyValues: boolean },
  at: FieldPath,
): FieldErrorList {
  const errors = [...modes(spec, at), ...capacity(spec, at.child('capacity'))];
  const policyPath = at.child('persistentVolumeReclaimPolicy');
  errors.push(...optionalOneOf(spec.persistentVolumeReclaimPolicy, RECLAIM_POLICIES, policyPath));
  const { required } = spec.nodeAffinity ?? {};
  const affinityPath = at.child('nodeAffinity', 'required');
  if (required !== undefined) errors.push(...nodeSelector(required, affinityPath, rules));
  else if (spec.nodeAffinity !== undefined) {
    errors.push(field.required(affinityPath, 'must specify required node constraints'));
  }
  errors.push(...sources(spec, name, spec.nodeAffinity !== undefined, at));
  if (
    spec.hostPath !== undefined &&
    isRoot(spec.hostPath.path) &&
    spec.persistentVolumeReclaimPolicy === 'Recycle'
  ) {
    errors.push(field.forbidden(policyPath, "may not be 'recycle' for a hostPath mount of '/'"));
  }
  const storageClass = spec.storageClassName ?? '';
  if (storageClass !== '') {
    errors.push(
      ...invalidEach(
        at.child('storageClassName'),
        storageClass,
        validation.isDNS1123Subdomain(storageClass),
      ),
    );
  }
  errors.push(...optionalOneOf(spec.volumeMode, VOLUME_MODES, at.child('volumeMode')));
  const attributesClass = spec.volumeAttributesClassName;
  if (attributesClass !== undefined) {
    const path = at.child('volumeAttributesClassName');
    if (attributesClass === '') errors.push(field.required(path, 'an empty string is disallowed'));
    else
      errors.push(
        ...invalidEach(path, attributesClass, validation.isDNS1123Subdomain(attributesClass)),
      );
    if (spec.csi === undefined) {
      errors.push(
        field.required(at.child('csi'), 'has to be specified when using volumeAttributesClassName'),
      );
    }
  }
  return errors;
}

function modes(spec: PersistentVolumeSpec, at: FieldPath): FieldErrorList {
  const path = at.child('accessModes');
  const list = spec.accessModes ?? [];
  return list.length === 0 ? [field.required(path)] : accessModes(list, path);
}

/** Validates the capacity, which has storage only. */
function capacity({ capacity: list = {} }: PersistentVolumeSpec, at: FieldPath): FieldErrorList {
  const names = Object.keys(list);
  const errors: FieldErrorList = [];
  if (names.length === 0) errors.push(field.required(at));
  if (!Object.hasOwn(list, 'storage') || names.length > 1)
    errors.push(field.notSupported(at, list, ['storage']));
  for (const [name, amount] of Object.entries(list)) {
    const quantity = parseQuantity(amount);
    if (quantity.sign() < 0)
      errors.push(
        field.invalid(at.key(name), quantity.value(), 'must be a valid resource quantity'),
      );
    if (quantity.sign() <= 0)
      errors.push(field.invalid(at.key(name), amount, 'must be greater than zero'));
  }
  return errors;
}

function isRoot(path: string): boolean {
  return path.startsWith('/') && path.split('/').every((part) => part === '' || part === '.');
}

type Sources = {
  readonly [K in keyof PersistentVolumeSource]-?: (
    source: NonNullable<PersistentVolumeSource[K]>,
    at: FieldPath,
    /** The name of the volume. */
    name: string,
  ) => FieldErrorList;
};

type SharedSource = keyof PersistentVolumeSource & keyof Volume;

/** Returns the rules of the source of the same name in pods. */
function ofPods<K extends SharedSource>(
  name: K,
): (source: NonNullable<Volume[K]>, at: FieldPath) => FieldErrorList {
  const check = POD_SOURCES[name] as (
    source: unknown,
    at: FieldPath,
    owner: VolumeOwner,
  ) => FieldErrorList;
  return (source, at) => check(source, at, { podName: '', isPod: false, isMirror: false });
}

/** Validates a reference to a secret with its namespace. */
function wholeName({ name, namespace }: SecretReference, at: FieldPath): FieldErrorList {
  return [...nonEmpty(name, at.child('name')), ...nonEmpty(namespace, at.child('namespace'))];
}

function secretName({ name = '', namespace = '' }: SecretReference, at: FieldPath): FieldErrorList {
  return [
    ...nonEmpty(name, at.child('name')),
    ...(name === ''
      ? []
      : invalidEach(at.child('name'), name, validation.isDNS1123Subdomain(name))),
    ...nonEmpty(namespace, at.child('namespace')),
    ...(namespace === ''
      ? []
      : invalidEach(at.child('namespace'), namespace, validation.isDNS1123Label(namespace))),
  ];
}

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

/** The order is the order of the checks. If several sources are set, the first one is validated. */
const SOURCES: Sources = {
  hostPath: ofPods('hostPath'),
  gcePersistentDisk: ofPods('gcePersistentDisk'),
  awsElasticBlockStore: ofPods('awsElasticBlockStore'),
  glusterfs: (source, at) => {
    const namespace = source.endpointsNamespace;
    const path = at.child('endpointsNamespace');
    const errors = ofPods('glusterfs')(source, at);
    if (namespace === '') {
      errors.push(
        field.invalid(
          path,
          namespace,
          'if the endpointnamespace is set, it must be a valid namespace name',
        ),
      );
    } else if (namespace !== undefined)
      errors.push(...invalidEach(path, namespace, validation.isDNS1123Label(namespace)));
    return errors;
  },
  flocker: ofPods('flocker'),
  nfs: ofPods('nfs'),
  rbd: ({ monitors, image }, at) => ofPods('rbd')({ monitors, image }, at),
  quobyte: ofPods('quobyte'),
  cephfs: ({ monitors }, at) => ofPods('cephfs')({ monitors }, at),
  iscsi: (source, at, name) => {
    const { targetPortal, iqn, lun, secretRef, initiatorName } = source;
    const needsSecret = source.chapAuthDiscovery === true || source.chapAuthSession === true;
    return [
      ...nonEmpty(targetPortal, at.child('targetPortal')),
      ...iscsiNameLength(name, source, targetPortal, at.child('targetportal')),
      ...(iqn === ''
        ? [field.required(at.child('iqn'))]
        : iscsiName(iqn, at.child('iqn'), 'must be valid format')),
      ...invalidEach(at.child('lun'), lun, validation.isInRange(lun, 0, 255)),
      ...(needsSecret && secretRef === undefined ? [field.required(at.child('secretRef'))] : []),
      ...(secretRef === undefined ? [] : nonEmpty(secretRef.name, at.child('secretRef', 'name'))),
      ...(initiatorName === undefined
        ? []
        : iscsiName(initiatorName, at.child('initiatorname'), 'must be valid format')),
    ];
  },
  cinder: ({ volumeID, secretRef }, at) => [
    ...nonEmpty(volumeID, at.child('volumeID')),
    ...(secretRef === undefined ? [] : wholeName(secretRef, at.child('secretRef'))),
  ],
  fc: ofPods('fc'),
  flexVolume: ({ driver, options }, at) =>
    ofPods('flexVolume')({ driver, ...(options !== undefined && { options }) }, at),
  azureFile: ({ secretName: secret, shareName, secretNamespace }, at) => [
    ...ofPods('azureFile')({ secretName: secret, shareName }, at),
    ...(secretNamespace === '' ? [field.required(at.child('secretNamespace'))] : []),
  ],
  vsphereVolume: ofPods('vsphereVolume'),
  photonPersistentDisk: ofPods('photonPersistentDisk'),
  portworxVolume: ofPods('portworxVolume'),
  azureDisk: ofPods('azureDisk'),
  scaleIO: ({ gateway, system, volumeName = '' }, at) => [
    ...nonEmpty(gateway, at.child('gateway')),
    ...nonEmpty(system, at.child('system')),
    ...nonEmpty(volumeName, at.child('volumeName')),
  ],
  local: ({ path }, at) =>
    path === '' ? [field.required(at.child('path'))] : noBacksteps(path, at.child('path')),
  storageos: ({ secretRef, volumeName, volumeNamespace }, at) => [
    ...ofPods('storageos')(
      {
        ...(volumeName !== undefined && { volumeName }),
        ...(volumeNamespace !== undefined && { volumeNamespace }),
      },
      at,
    ),
    ...(secretRef === undefined ? [] : wholeName(secretRef, at.child('secretRef'))),
  ],
  csi: (source, at) => [
    ...csiDriverName(source.driver, at.child('driver')),
    ...nonEmpty(source.volumeHandle, at.child('volumeHandle')),
    ...CSI_SECRETS.flatMap((name) => {
      const secret = source[name];
      return secret === undefined ? [] : secretName(secret, at.child(name));
    }),
  ],
};

const SOURCE_NAMES = Object.keys(SOURCES) as (keyof PersistentVolumeSource)[];

/** Validates the sources. `hasAffinity`: the volume has a node affinity. */
function sources(
  spec: PersistentVolumeSpec,
  name: string,
  hasAffinity: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  let count = 0;
  for (const source of SOURCE_NAMES) {
    const value = spec[source];
    if (value === undefined) continue;
    // As in upstream, a flexVolume after another source is not reported.
    if (count++ > 0 && source !== 'flexVolume') {
      const path = source === 'cephfs' ? 'cephFS' : source;
      errors.push(field.forbidden(at.child(path), 'may not specify more than 1 volume type'));
      continue;
    }
    const check = SOURCES[source] as (
      source: unknown,
      at: FieldPath,
      name: string,
    ) => FieldErrorList;
    errors.push(...check(value, at.child(PATHS[source as SharedSource] ?? source), name));
    if (source === 'local' && !hasAffinity) {
      errors.push(field.required(at.child('nodeAffinity'), 'Local volume requires node affinity'));
    }
  }
  if (count === 0) errors.push(field.required(at, 'must specify a volume type'));
  return errors;
}

function sourceOf(spec: PersistentVolumeSpec): PersistentVolumeSource {
  return Object.fromEntries(
    SOURCE_NAMES.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]]])),
  );
}

/** Returns the source with the old secret for expansion, which may be added later. */
function sourceForUpdate(
  { spec }: PersistentVolume,
  { spec: old }: PersistentVolume,
): PersistentVolumeSource {
  const source = sourceOf(spec);
  if (source.csi?.controllerExpandSecretRef === undefined || old.csi === undefined) return source;
  if (old.csi.controllerExpandSecretRef !== undefined) return source;
  const { controllerExpandSecretRef: _, ...csi } = source.csi;
  return { ...source, csi };
}

type NodeAffinity = PersistentVolumeSpec['nodeAffinity'];

const NEWER_LABELS: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
};

/**
 * Returns the affinity with old label names in place of the new ones, which may replace them. An
 * empty one may replace any name that has no new one, as upstream.
 */
function withOldLabels(affinity: NodeAffinity, old: NodeAffinity): NodeAffinity {
  const terms = affinity?.required?.nodeSelectorTerms;
  const oldTerms = old?.required?.nodeSelectorTerms;
  if (affinity?.required === undefined || terms?.length !== oldTerms?.length) return affinity;
  const nodeSelectorTerms = (terms ?? []).map((term, index) => {
    const before = oldTerms?.[index]?.matchExpressions;
    if (term.matchExpressions === undefined || before?.length !== term.matchExpressions.length)
      return term;
    const matchExpressions = term.matchExpressions.map((expression, at) => {
      const key = before[at]?.key ?? '';
      const newer = Object.hasOwn(NEWER_LABELS, key) ? NEWER_LABELS[key] : '';
      return newer === expression.key ? { ...expression, key } : expression;
    });
    return { ...term, matchExpressions };
  });
  return { ...affinity, required: { ...affinity.required, nodeSelectorTerms } };
}

/** Sources with mount options. */
const MOUNTABLE: readonly (keyof PersistentVolumeSource)[] = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cephfs',
  'cinder',
  'vsphereVolume',
  'azureDisk',
  'azureFile',
  'portworxVolume',
];

/** Validates mount options, also in their former annotation. */
function mountOptions({ metadata, spec }: PersistentVolume): FieldErrorList {
  if (
    metadata.annotations?.[MOUNT_OPTIONS] === undefined ||
    MOUNTABLE.some((name) => spec[name] !== undefined)
  )
    return [];
  const path = field.path('metadata', 'annotations').child(MOUNT_OPTIONS);
  return [field.forbidden(path, 'may not specify mount options for this volume type')];
}
