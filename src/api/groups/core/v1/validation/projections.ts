// Validation of files from ConfigMaps, Secrets, fields of the pod, tokens and certificates.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from './types.ts';
import { fileMode, invalidEach, localNonReservedPath, nonEmpty } from './common.ts';
import { fieldRef, resourceFieldRef, VOLUME_FIELD_PATHS } from './env.ts';

export function keysToPaths(
  items: readonly KeyToPath[] | undefined,
  at: FieldPath,
): FieldErrorList {
  return (items ?? []).flatMap((item, index) => {
    const path = at.index(index);
    return [
      ...nonEmpty(item.key, path.child('key')),
      ...nonEmpty(item.path, path.child('path')),
      ...localNonReservedPath(item.path, path.child('path')),
      ...fileMode(item.mode, path.child('mode')),
    ];
  });
}

/** Validates a file. Its errors have the path of the volume, not of the file. */
export function downwardFile(file: DownwardAPIVolumeFile, at: FieldPath): FieldErrorList {
  const errors = [
    ...nonEmpty(file.path, at.child('path')),
    ...localNonReservedPath(file.path, at.child('path')),
  ];
  if (file.fieldRef !== undefined) {
    errors.push(...fieldRef(file.fieldRef, VOLUME_FIELD_PATHS, at.child('fieldRef')));
    if (file.resourceFieldRef !== undefined) {
      errors.push(
        field.invalid(
          at,
          'resource',
          'fieldRef and resourceFieldRef can not be specified simultaneously',
        ),
      );
    }
  } else if (file.resourceFieldRef !== undefined) {
    errors.push(...resourceFieldRef(file.resourceFieldRef, true, at.child('resourceFieldRef')));
  } else errors.push(field.required(at, 'one of fieldRef and resourceFieldRef is required'));
  errors.push(...fileMode(file.mode, at.child('mode')));
  return errors;
}

/**
 * Validates projections: no two files may have the same path. `at`: the path of the volume's
 * source.
 */
export function projections({ sources }: ProjectedVolumeSource, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const paths = new Set<string>();
  /** Records a path. `shown`: the value in the error. */
  const take = (path: string, shown: string, { evenNone = false } = {}): void => {
    if (path === '' && !evenNone) return;
    if (paths.has(path)) errors.push(field.invalid(at, shown, 'conflicting duplicate paths'));
    paths.add(path);
  };
  (sources ?? []).forEach((source, index) => {
    const path = at.child('sources').index(index);
    for (const kind of ['secret', 'configMap'] as const) {
      const { name = '', items } = source[kind] ?? {};
      if (source[kind] === undefined) continue;
      errors.push(
        ...nonEmpty(name, path.child(kind, 'name')),
        ...keysToPaths(items, path.child(kind, 'items')),
      );
      for (const item of items ?? []) take(item.path, name);
    }
    for (const file of source.downwardAPI?.items ?? []) {
      errors.push(...downwardFile(file, path.child('downwardAPI')));
      take(file.path, file.path);
    }
    if (source.serviceAccountToken !== undefined) {
      errors.push(...token(source.serviceAccountToken, at, path.child('serviceAccountToken')));
    }
    if (source.clusterTrustBundle !== undefined) {
      errors.push(...trustBundle(source.clusterTrustBundle, path.child('clusterTrustBundle')));
      take(source.clusterTrustBundle.path, source.clusterTrustBundle.path, { evenNone: true });
    }
    if (source.podCertificate !== undefined) {
      const where = path.child('podCertificate');
      errors.push(...certificate(source.podCertificate, where));
      const givenPaths = CERTIFICATE_PATHS.filter(
        (name) => (source.podCertificate?.[name] ?? '') !== '',
      );
      for (const name of givenPaths) {
        const file = source.podCertificate[name]!;
        errors.push(...localNonReservedPath(file, where.child(name)));
        take(file, file);
      }
      if (givenPaths.length === 0) {
        const message =
          'specify at least one of credentialBundlePath, keyPath, and certificateChainPath';
        errors.push(field.required(where, message));
      }
    }
    if (countOf(source) > 1)
      errors.push(field.forbidden(path, 'may not specify more than 1 volume type per source'));
  });
  return errors;
}

const countOf = (source: VolumeProjection): number =>
  Object.values(source).filter((part) => part !== undefined).length;

const MIN_TOKEN_SECONDS = 10 * 60;
const MAX_TOKEN_SECONDS = 2 ** 32;

function token(
  { expirationSeconds = 0, path }: ServiceAccountTokenProjection,
  volume: FieldPath,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const where = at.child('expirationSeconds');
  if (expirationSeconds < MIN_TOKEN_SECONDS) {
    errors.push(
      field.invalid(where, expirationSeconds, 'may not specify a duration less than 10 minutes'),
    );
  }
  if (expirationSeconds > MAX_TOKEN_SECONDS) {
    errors.push(
      field.invalid(
        where,
        expirationSeconds,
        'may not specify a duration larger than 2^32 seconds',
      ),
    );
  }
  if (path === '') errors.push(field.required(volume.child('path')));
  else errors.push(...localNonReservedPath(path, volume.child('path')));
  return errors;
}

function trustBundle(bundle: ClusterTrustBundleProjection, at: FieldPath): FieldErrorList {
  const { name, signerName, labelSelector, path } = bundle;
  const errors: FieldErrorList = [];
  if (name !== undefined && signerName !== undefined) {
    errors.push(field.invalid(at, bundle, 'only one of name and signerName may be used'));
  } else if (name !== undefined) {
    if (name === '') errors.push(field.required(at.child('name'), 'must be a valid object name'));
    errors.push(...bundleName(name, at.child('name')));
    if (labelSelector !== undefined) {
      errors.push(
        field.invalid(
          at.child('labelSelector'),
          labelSelector,
          'labelSelector must be unset if name is specified',
        ),
      );
    }
  } else if (signerName !== undefined) {
    if (signerName === '')
      errors.push(field.required(at.child('signerName'), 'must be a valid signer name'));
    errors.push(...signer(signerName, at.child('signerName')));
    errors.push(...validateLabelSelector(labelSelector, at.child('labelSelector')));
  } else errors.push(field.required(at, 'either name or signerName must be specified'));
  errors.push(...nonEmpty(path, at.child('path')), ...localNonReservedPath(path, at.child('path')));
  return errors;
}

/**
 * Validates the name of a bundle. That of a signer begins with the signer's name, with colons
 * instead of slashes and at the end.
 */
function bundleName(name: string, at: FieldPath): FieldErrorList {
  const colon = name.lastIndexOf(':');
  const problems =
    colon < 0
      ? validation.isDNS1123Subdomain(name)
      : validation.isDNS1123Subdomain(name.slice(colon + 1));
  return invalidEach(
    at,
    name,
    problems.map((problem) => `not a valid clustertrustbundlename: ${problem}`),
  );
}

const CERTIFICATE_PATHS = ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const;
const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const MIN_CERTIFICATE_SECONDS = 60 * 60;
const MAX_CERTIFICATE_SECONDS = 91 * 24 * 60 * 60;
/** The maximum lifetime of certificates from Kubernetes' own signers. */
const MAX_KUBERNETES_CERTIFICATE_SECONDS = 24 * 60 * 60;
const isOfKubernetes = (signerName: string): boolean =>
  /(^|\.)kubernetes\.io$/.test(signerName.split('/')[0] ?? '');

function certificate(source: PodCertificateProjection, at: FieldPath): FieldErrorList {
  const { signerName = '', keyType, maxExpirationSeconds: seconds } = source;
  const errors = signer(signerName, at.child('signerName'));
  if (!KEY_TYPES.includes(keyType ?? ''))
    errors.push(field.notSupported(at.child('keyType'), keyType ?? '', KEY_TYPES));
  if (seconds !== undefined) {
    const max = isOfKubernetes(signerName)
      ? MAX_KUBERNETES_CERTIFICATE_SECONDS
      : MAX_CERTIFICATE_SECONDS;
    const tell = (limit: string): void => {
      const message = `if provided, maxExpirationSeconds must be ${limit}`;
      errors.push(field.invalid(at.child('maxExpirationSeconds'), seconds, message));
    };
    if (seconds < MIN_CERTIFICATE_SECONDS) tell(`>= ${MIN_CERTIFICATE_SECONDS}`);
    if (seconds > max) tell(`<= ${max}`);
  }
  return errors;
}

/** Validates 'domain/path'. */
function signer(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  const segments = name.split('/');
  if (segments.length !== 2) {
    return [
      field.invalid(
        at,
        name,
        'must be a fully qualified domain and path of the form "example.com/signer-name"',
      ),
    ];
  }
  const [domain = '', path = ''] = segments;
  const problems = [...validation.isDNS1123Subdomain(domain)];
  if (!domain.includes('.'))
    problems.push('should be a domain with at least two segments separated by dots');
  problems.push(...validation.isDNS1123Subdomain(path));
  return invalidEach(at, name, problems);
}
