// Extenders in a KubeSchedulerConfiguration.

import * as field from '#machinery/validation/field.ts';
import { isQualifiedName } from '#machinery/validation/validation.ts';
import { isExtendedResourceName } from '#api/groups/core/v1/extended-resource.ts';
import { readDuration } from './durations.ts';
import type { ConfigReader } from './reader.ts';

const DEFAULT_TIMEOUT_MS = 5000;
const MAX_WEIGHT = Number.MAX_SAFE_INTEGER;

/** PEM data, from files or (base64) from the configuration itself; '' if not given. */
export interface ExtenderTls {
  readonly insecure: boolean;
  readonly serverName: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly certData: string;
  readonly keyData: string;
  readonly caData: string;
}

export interface ExtenderConfiguration {
  readonly urlPrefix: string;
  /** Appended to urlPrefix; '' if the extender does not support the call. */
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly enableHttps: boolean;
  readonly tls: ExtenderTls;
  readonly timeoutMs: number;
  /** The extender caches nodes: names are enough for it. */
  readonly nodeCacheCapable: boolean;
  /**
   * The extender is called only for pods that request one of these resources; empty: for all pods.
   */
  readonly managedResources: readonly {
    readonly name: string;
    readonly ignoredByScheduler: boolean;
  }[];
  readonly ignorable: boolean;
}

/** Reads extenders, and orders them: ignorable ones come last. */
export function readExtenders(reader: ConfigReader): readonly ExtenderConfiguration[] {
  const seen = new Set<string>();
  const extenders = reader.items().map((item) => readExtender(item, seen));
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== '').length;
  if (binders > 1) {
    const found = `found ${binders} extenders implementing bind`;
    reader.errors.push(field.invalid(reader.path, found, 'only one extender can implement bind'));
  }
  return [
    ...extenders.filter(({ ignorable }) => !ignorable),
    ...extenders.filter(({ ignorable }) => ignorable),
  ];
}

function readExtender(reader: ConfigReader, seen: Set<string>): ExtenderConfiguration {
  reader.fields(
    'urlPrefix',
    'filterVerb',
    'preemptVerb',
    'prioritizeVerb',
    'weight',
    'bindVerb',
    'enableHTTPS',
    'tlsConfig',
    'httpTimeout',
    'nodeCacheCapable',
    'managedResources',
    'ignorable',
  );
  const text = (name: string): string => reader.child(name).string() ?? '';
  const urlPrefix = reader.child('urlPrefix').requiredString();
  if (urlPrefix !== '' && !/^https?:\/\//.test(urlPrefix)) {
    reader.errors.push(
      field.invalid(
        reader.child('urlPrefix').path,
        urlPrefix,
        'must be a URL of the scheme http or https',
      ),
    );
  } else if (urlPrefix !== '' && !URL.canParse(urlPrefix)) {
    reader.errors.push(field.invalid(reader.child('urlPrefix').path, urlPrefix, 'must be a URL'));
  }
  const prioritizeVerb = text('prioritizeVerb');
  const weight = reader.child('weight').integer(-MAX_WEIGHT, MAX_WEIGHT) ?? 0;
  if (prioritizeVerb !== '' && weight <= 0) {
    reader.errors.push(
      field.invalid(
        reader.child('weight').path,
        weight,
        'must have a positive weight applied to it',
      ),
    );
  }
  return {
    urlPrefix,
    filterVerb: text('filterVerb'),
    preemptVerb: text('preemptVerb'),
    prioritizeVerb,
    bindVerb: text('bindVerb'),
    weight,
    enableHttps: reader.child('enableHTTPS').boolean() ?? false,
    tls: readTls(reader.child('tlsConfig')),
    timeoutMs: readDuration(reader.child('httpTimeout'), true) || DEFAULT_TIMEOUT_MS,
    nodeCacheCapable: reader.child('nodeCacheCapable').boolean() ?? false,
    managedResources: reader
      .child('managedResources')
      .items()
      .map((item) => readManagedResource(item, seen)),
    ignorable: reader.child('ignorable').boolean() ?? false,
  };
}

function readTls(reader: ConfigReader): ExtenderTls {
  const names = [
    'serverName',
    'certFile',
    'keyFile',
    'caFile',
    'certData',
    'keyData',
    'caData',
  ] as const;
  reader.fields('insecure', ...names);
  const texts = Object.fromEntries(
    names.map((name) => [name, reader.child(name).string() ?? '']),
  ) as Record<(typeof names)[number], string>;
  const insecure = reader.child('insecure').boolean() ?? false;
  if (insecure && (texts.caFile !== '' || texts.caData !== '')) {
    const why = 'specifying a root certificates file with the insecure flag is not allowed';
    reader.errors.push(field.invalid(reader.child('insecure').path, true, why));
  }
  if (((texts.certFile || texts.certData) === '') !== ((texts.keyFile || texts.keyData) === '')) {
    reader.errors.push(
      field.invalid(reader.path, '<omitted>', 'a certificate and its key must be given together'),
    );
  }
  return { insecure, ...texts };
}

function readManagedResource(
  reader: ConfigReader,
  seen: Set<string>,
): ExtenderConfiguration['managedResources'][number] {
  reader.fields('name', 'ignoredByScheduler');
  const { path } = reader.child('name');
  const name = reader.child('name').requiredString();
  const problems = name === '' ? [] : isQualifiedName(name);
  for (const problem of problems) reader.errors.push(field.invalid(path, name, problem));
  if (name !== '' && problems.length === 0 && !isExtendedResourceName(name)) {
    reader.errors.push(field.invalid(path, name, 'is an invalid extended resource name'));
  }
  if (seen.has(name))
    reader.errors.push(field.invalid(path, name, 'duplicate extender managed resource name'));
  seen.add(name);
  return { name, ignoredByScheduler: reader.child('ignoredByScheduler').boolean() ?? false };
}
