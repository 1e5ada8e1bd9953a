// Selects the credentials for an image from a pod's image pull secrets.

import type { AuthConfig } from '#cri/index.ts';
import type { Secret } from '../types.ts';
import { parseImageName } from './image-name.ts';

interface Entry {
  /** The host with optional port and path, in lower case, without scheme: 'ghcr.io/team'. */
  readonly place: string;
  readonly auth: AuthConfig;
}

/**
 * Returns the matching credentials, the most specific place first. Secrets of other types, and
 * malformed ones, are ignored.
 */
export function credentialsFor(image: string, secrets: readonly Secret[]): readonly AuthConfig[] {
  const name = parseImageName(image);
  const target = `${name.registry}/${name.repository}`;
  return secrets
    .flatMap(readSecret)
    .filter((entry) => matchesPlace(entry.place, target))
    .toSorted((a, b) => b.place.length - a.place.length)
    .map((entry) => entry.auth);
}

function readSecret(secret: Secret): Entry[] {
  const config = secret.data?.['.dockerconfigjson'];
  const legacy = secret.data?.['.dockercfg'];
  try {
    if (secret.type === 'kubernetes.io/dockerconfigjson' && config !== undefined) {
      const parsed: unknown = JSON.parse(Buffer.from(config, 'base64').toString('utf8'));
      return isRecord(parsed) ? readAuths(parsed['auths']) : [];
    }
    if (secret.type === 'kubernetes.io/dockercfg' && legacy !== undefined) {
      return readAuths(JSON.parse(Buffer.from(legacy, 'base64').toString('utf8')));
    }
  } catch {
    // A malformed secret is ignored: the failed pull reports the missing authorization.
    return [];
  }
  return [];
}

function readAuths(auths: unknown): Entry[] {
  if (!isRecord(auths)) return [];
  return Object.entries(auths).flatMap(([place, value]) => {
    if (!isRecord(value)) return [];
    let username = text(value['username']);
    let password = text(value['password']);
    const encoded = text(value['auth']);
    if (encoded !== '') {
      const decoded = Buffer.from(encoded, 'base64').toString('utf8');
      const colon = decoded.indexOf(':');
      if (colon > 0) {
        username = decoded.slice(0, colon);
        password = decoded.slice(colon + 1);
      }
    }
    const auth: AuthConfig = {
      username,
      password,
      identityToken: text(value['identitytoken']),
      registryToken: text(value['registrytoken']),
    };
    return [{ place: normalizePlace(place), auth }];
  });
}

/** Returns the place in lower case, without scheme and version of the registry's API. */
export function normalizePlace(place: string): string {
  const bare = place
    .replace(/^https?:\/\//, '')
    .replace(/\/+$/, '')
    .replace(/\/v[12]$/, '')
    .toLowerCase();
  return bare.replace(/^(?:index\.|registry-1\.)docker\.io(?=\/|$)/, 'docker.io');
}

/**
 * Reports whether the place matches. A label of the host may contain '*'; the path must be a prefix
 * of the image's path, part by part.
 */
export function matchesPlace(place: string, target: string): boolean {
  const [placeHost = '', ...placePath] = place.split('/');
  const [host = '', ...path] = target.split('/');
  const placeLabels = placeHost.split('.');
  const labels = host.split('.');
  if (placeLabels.length !== labels.length) return false;
  if (!placeLabels.every((label, index) => globMatches(label, labels[index] ?? ''))) return false;
  return placePath.every((part, index) => part === path[index]);
}

function globMatches(pattern: string, value: string): boolean {
  const parts = pattern.split('*');
  if (parts.length === 1) return pattern === value;
  const [first = ''] = parts;
  const last = parts[parts.length - 1] ?? '';
  if (
    !value.startsWith(first) ||
    !value.endsWith(last) ||
    value.length < first.length + last.length
  )
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, at);
    if (found < 0 || found + part.length > value.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
