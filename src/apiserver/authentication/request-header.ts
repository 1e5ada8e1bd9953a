// Authenticates users that a front proxy names in headers. A front proxy presents a certificate of
// the front proxy authority with an allowed name. The headers of all other clients are ignored.

import { getOwn, setOwn } from '#machinery/deep.ts';
import { headerTexts } from '../header-values.ts';
import type { UserInfo } from '../request.ts';
import type { Authenticator } from './authenticator.ts';

export interface RequestHeaderConfig {
  /** The authority of front proxies, in PEM. */
  readonly ca: string;
  /** Common names of front proxies. Empty: every certificate of the authority is accepted. */
  readonly allowedNames: readonly string[];
  /** The headers for the user name. The first one with a value counts. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  /** The headers for groups. Every value of every header is a group. */
  readonly groupHeaders: readonly string[];
  /** Prefixes of headers for extra fields. The rest of the header's name is the key. */
  readonly extraHeaderPrefixes: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #config: RequestHeaderConfig;

  constructor(config: RequestHeaderConfig) {
    const lower = (names: readonly string[]): readonly string[] =>
      names.map((name) => name.trim().toLowerCase());
    this.#config = {
      ...config,
      usernameHeaders: lower(config.usernameHeaders),
      uidHeaders: lower(config.uidHeaders),
      groupHeaders: lower(config.groupHeaders),
      extraHeaderPrefixes: lower(config.extraHeaderPrefixes),
    };
  }

  authenticate(request: Parameters<Authenticator['authenticate']>[0]): UserInfo | undefined {
    const { peerCertificate: certificate } = request;
    if (certificate?.isFrontProxy !== true) return undefined;
    const { allowedNames, usernameHeaders, uidHeaders, groupHeaders } = this.#config;
    if (allowedNames.length > 0 && !allowedNames.includes(certificate.commonName)) return undefined;
    const headers = [...headerTexts(request)];
    const name = firstValue(headers, usernameHeaders);
    if (name === undefined) return undefined;
    const uid = firstValue(headers, uidHeaders);
    const groups = groupHeaders.flatMap((group) =>
      valuesOf(headers, group).filter((value) => value !== ''),
    );
    const extra = this.#extraOf(headers);
    return {
      name,
      groups,
      ...(uid !== undefined && { uid }),
      ...(Object.keys(extra).length > 0 && { extra }),
    };
  }

  #extraOf(headers: Headers): Record<string, string[]> {
    const extra: Record<string, string[]> = {};
    for (const prefix of this.#config.extraHeaderPrefixes) {
      for (const [name, value] of headers) {
        if (!name.startsWith(prefix)) continue;
        const key = unescaped(name.slice(prefix.length));
        const values = getOwn(extra, key) as string[] | undefined;
        if (values === undefined) setOwn(extra, key, [value]);
        else values.push(value);
      }
    }
    return extra;
  }
}

function valuesOf(headers: Headers, wanted: string): readonly string[] {
  return headers.filter(([name]) => name === wanted).map(([, value]) => value);
}

function firstValue(headers: Headers, names: readonly string[]): string | undefined {
  for (const name of names) {
    const [value = ''] = valuesOf(headers, name);
    if (value !== '') return value;
  }
  return undefined;
}

/** Decodes a key. A key with invalid percent-encoding stays unchanged, as upstream. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}
