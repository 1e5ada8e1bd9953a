// /statusz and /flagz: a component's identity and its flags, as text for people and as versioned
// objects for programs. https://kubernetes.io/docs/reference/instrumentation/zpages/

import * as apierrors from '../apierrors.ts';
import type { Clock } from '../clock.ts';
import { formatTime } from '../text/time.ts';
import type { VersionInfo } from '../version-info.ts';
import { type AcceptRequest, parseAccept, wantsPretty } from './accept.ts';
import { TEXT, type TextResponse } from './health.ts';

export interface ZPageRequest extends AcceptRequest {
  /** Encodes an object as YAML, for clients that ask for it. */
  readonly formatYaml: (object: object) => string | Promise<string>;
}

export interface StatuszConfig {
  /** Such as 'apiserver' or 'kube-scheduler'. */
  readonly component: string;
  readonly clock: Clock;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly version: VersionInfo;
  /** The served paths. Only their first segments are published. */
  readonly paths: () => readonly string[];
}

const GROUP = 'config.k8s.io';
const VERSIONS: ReadonlySet<string> = new Set(['v1alpha1', 'v1beta1']);
const DEPRECATED_VERSION = 'v1alpha1';
const STRUCTURED = ['application/json', 'application/yaml'] as const;
/** The media types in the error for clients that accept none of them. */
const SERVED = [...STRUCTURED, 'text/plain'];
/** Roots of APIs and documents, which are not for debugging. */
const NOT_FOR_DEBUGGING: ReadonlySet<string> = new Set([
  '/apis',
  '/api',
  '/openid',
  '/openapi',
  '/.well-known',
]);

const heading = (component: string, page: string): string =>
  `\n${component} ${page}\nWarning: This endpoint is not meant to be machine parseable, ` +
  'has no formatting compatibility guarantees and is for debugging purposes only.\n';

/** Returns the response for /statusz. Rejects with StatusError (406). */
export async function statusz(
  request: ZPageRequest,
  { component, clock, startedAt, version, paths }: StatuszConfig,
): Promise<TextResponse> {
  const upSeconds = Math.max(0, Math.floor((clock.now() - startedAt) / 1000));
  const binaryVersion = version.gitVersion.replace(/^v/, '');
  const emulationVersion = `${version.emulationMajor}.${version.emulationMinor}`;
  const roots = new Set(paths().map((path) => `/${path.split('/')[1] ?? ''}`));
  const shown = [...roots]
    .filter((root) => root !== '/' && !NOT_FOR_DEBUGGING.has(root))
    .toSorted();
  return page(request, {
    page: 'statusz',
    kind: 'Statusz',
    component,
    fields: () => ({
      startTime: formatTime(startedAt),
      uptimeSeconds: upSeconds,
      goVersion: version.goVersion,
      binaryVersion,
      emulationVersion,
      paths: shown,
    }),
    text: () => {
      const two = (value: number): string => String(value).padStart(2, '0');
      const up =
        `${Math.floor(upSeconds / 3600)} hr ${two(Math.floor(upSeconds / 60) % 60)} min ` +
        `${two(upSeconds % 60)} sec`;
      return [
        '',
        `Started: ${unixDate(startedAt)}`,
        `Up: ${up}`,
        `Go version: ${version.goVersion}`,
        `Binary version: ${binaryVersion}`,
        `Emulation version: ${emulationVersion}`,
        `Paths: ${shown.join(' ')}`,
        '',
      ].join('\n');
    },
  });
}

/**
 * Returns the response for /flagz. `flags`: by name, without dashes. Rejects with StatusError
 * (406).
 */
export async function flagz(
  request: ZPageRequest,
  component: string,
  flags: Readonly<Record<string, string>>,
): Promise<TextResponse> {
  const sorted = Object.entries(flags).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return page(request, {
    page: 'flagz',
    kind: 'Flagz',
    component,
    fields: () => ({ flags: Object.fromEntries(sorted) }),
    text: () => sorted.map(([name, value]) => `${name}: ${value}\n`).join(''),
  });
}

interface Page {
  readonly page: string;
  readonly kind: string;
  readonly component: string;
  readonly fields: () => object;
  readonly text: () => string;
}

async function page(
  request: ZPageRequest,
  { page: name, kind, component, fields, text }: Page,
): Promise<TextResponse> {
  const form = formOf(request, kind);
  if (form === undefined)
    return { code: 200, contentType: TEXT, text: heading(component, name) + text() };
  const object = {
    kind,
    apiVersion: `${GROUP}/${form.version}`,
    metadata: { name: component },
    ...fields(),
  };
  return {
    code: 200,
    contentType: `${form.mediaType};g=${GROUP};v=${form.version};as=${kind}`,
    text: await encoded(request, object, form),
    ...(form.version === DEPRECATED_VERSION && {
      headers: {
        warning: `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`,
      },
    }),
  };
}

interface Form {
  readonly mediaType: (typeof STRUCTURED)[number];
  readonly version: string;
  readonly pretty: boolean;
}

/** Returns the requested form; undefined for text. Throws StatusError (406). */
function formOf(request: ZPageRequest, kind: string): Form | undefined {
  const accept = request.headers['accept'] ?? '';
  if (accept.trim() === '') return undefined;
  for (const { type, parameters } of parseAccept(accept)) {
    const covers = (mediaType: string): boolean =>
      type === mediaType ||
      type === '*/*' ||
      type === '*' ||
      type === `${mediaType.split('/')[0]}/*`;
    const transformed = parameters.has('as') || parameters.has('g') || parameters.has('v');
    const mediaType = STRUCTURED.find(covers);
    const version = parameters.get('v') ?? '';
    if (
      mediaType !== undefined &&
      parameters.get('as') === kind &&
      parameters.get('g') === GROUP &&
      VERSIONS.has(version)
    ) {
      return {
        mediaType,
        version,
        pretty: wantsPretty(request) || parameters.get('pretty') === '1',
      };
    }
    if (!transformed && covers('text/plain')) return undefined;
  }
  throw apierrors.notAcceptable(SERVED);
}

async function encoded(
  { formatYaml }: ZPageRequest,
  object: object,
  { mediaType, pretty }: Form,
): Promise<string> {
  if (mediaType === 'application/yaml') return formatYaml(object);
  return pretty ? JSON.stringify(object, null, 2) : `${JSON.stringify(object)}\n`;
}

/** Formats a time as `date` does: 'Mon Jan  2 15:04:05 UTC 2006'. */
function unixDate(ms: number): string {
  const [, weekday, day, month, year, time] =
    /^(\w+), 0?(\d+) (\w+) (\d+) (\S+)/.exec(new Date(ms).toUTCString()) ?? [];
  return `${weekday} ${month} ${(day ?? '').padStart(2)} ${time} UTC ${year}`;
}
