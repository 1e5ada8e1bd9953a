// The options of `cox kubelet` about static pods behind a URL.

import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { KubeletConfig } from '#kubelet/config.ts';
import { UserError } from '../../user-error.ts';

/** With the names of upstream's flags. */
export interface StaticPodOptions {
  readonly manifestUrl?: string;
  /** The values of each header. */
  readonly manifestUrlHeader?: Readonly<Record<string, readonly string[]>>;
  /** Milliseconds. */
  readonly httpCheckFrequency?: number;
}

type StaticPodSettings = Pick<
  KubeletConfig,
  'staticPodUrl' | 'staticPodUrlHeaders' | 'staticPodUrlCheckMs'
>;

/** Throws UserError, which shows no value of a header: values may be secret. */
export function staticPodSettings(options: StaticPodOptions): StaticPodSettings {
  const { manifestUrl: url = '', manifestUrlHeader: headers, httpCheckFrequency } = options;
  checkHeaders(headers ?? {});
  if (url === '') return {};
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalid('staticPodURL (--manifest-url) is no URL that begins with http:// or https://');
  return {
    staticPodUrl: url,
    staticPodUrlHeaders: headers,
    staticPodUrlCheckMs: httpCheckFrequency,
  };
}

function checkHeaders(headers: unknown): void {
  for (const [name, values] of Object.entries(headers as Readonly<Record<string, unknown>>)) {
    const where = `staticPodURLHeader (--manifest-url-header) ${JSON.stringify(name)}`;
    if (!Array.isArray(values) || !values.every((value) => typeof value === 'string'))
      throw invalid(`${where} takes a list of texts`);
    try {
      validateHeaderName(name);
      for (const value of values) validateHeaderValue(name, value);
    } catch {
      // The error's own message may contain the value.
      throw invalid(`${where} is no valid header`);
    }
  }
}

/** Returns the options as /flagz may show them: without passwords and values of headers. */
export function withoutSecrets<T extends StaticPodOptions>(options: T): T {
  const { manifestUrl, manifestUrlHeader } = options;
  const masked: {
    manifestUrl?: string;
    manifestUrlHeader?: StaticPodOptions['manifestUrlHeader'];
  } = {};
  if (manifestUrl !== undefined && URL.canParse(manifestUrl)) {
    const url = new URL(manifestUrl);
    if (url.password !== '') url.password = 'masked';
    masked.manifestUrl = url.href;
  }
  if (manifestUrlHeader !== undefined)
    masked.manifestUrlHeader = Object.fromEntries(
      Object.keys(manifestUrlHeader).map((name) => [name, ['<masked>']]),
    );
  return { ...options, ...masked };
}

const invalid = (problem: string): UserError => new UserError(`invalid configuration: ${problem}`);
