// Parses image references: registry, repository, tag and digest.

export class InvalidImageNameError extends Error {}

export interface ImageName {
  /** For example 'docker.io', 'ghcr.io' or 'localhost:5000'. */
  readonly registry: string;
  /** The name without the registry: 'library/busybox'. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

const COMPONENT = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][\w.-]{0,127}$/;
const DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const MAX_NAME_LENGTH = 255;

/**
 * Parses an image reference. Throws InvalidImageNameError, in the words of the reference grammar.
 */
export function parseImageName(image: string): ImageName {
  let rest = image;
  let digest: string | undefined;
  const at = rest.indexOf('@');
  if (at >= 0) {
    digest = rest.slice(at + 1);
    rest = rest.slice(0, at);
    if (!DIGEST.test(digest)) throw new InvalidImageNameError('invalid reference format');
  }
  let tag: string | undefined;
  const colon = rest.lastIndexOf(':');
  if (colon > rest.lastIndexOf('/')) {
    tag = rest.slice(colon + 1);
    rest = rest.slice(0, colon);
    if (!TAG.test(tag)) throw new InvalidImageNameError('invalid reference format');
  }
  let registry = 'docker.io';
  const slash = rest.indexOf('/');
  const first = slash < 0 ? '' : rest.slice(0, slash);
  // The first part is a host if it cannot be part of a repository: with a dot, a port or capital
  // letters, or 'localhost'.
  if (slash >= 0 && (/[.:A-Z]/.test(first) || first === 'localhost')) {
    registry = first;
    rest = rest.slice(slash + 1);
  } else if (slash < 0) rest = `library/${rest}`;
  if (rest !== rest.toLowerCase())
    throw new InvalidImageNameError(
      `invalid reference format: repository name (${rest}) must be lowercase`,
    );
  if (rest.split('/').some((part) => !COMPONENT.test(part)))
    throw new InvalidImageNameError('invalid reference format');
  if (registry.length + rest.length > MAX_NAME_LENGTH) {
    throw new InvalidImageNameError('repository name must not be more than 255 characters');
  }
  if (registry === 'index.docker.io') registry = 'docker.io';
  return { registry, repository: rest, tag, digest };
}

/**
 * Returns the reference, with the tag 'latest' if it has neither tag nor digest. Throws
 * InvalidImageNameError.
 */
export function withDefaultTag(image: string): string {
  const name = parseImageName(image);
  return name.tag === undefined && name.digest === undefined ? `${image}:latest` : image;
}
