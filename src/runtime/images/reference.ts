// Names of images: host, repository, tag and digest, with the defaults of other runtimes.

import { CriError } from '#cri/index.ts';

export interface ImageReference {
  /** The registry, such as docker.io or localhost:5000. */
  readonly host: string;
  /** The repository in the registry, such as library/busybox. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

const HOST = /^[a-zA-Z0-9]+(?:[.-]+[a-zA-Z0-9]+)*(?::\d{1,5})?$|^\[[0-9a-fA-F:]+\](?::\d{1,5})?$/;
const REPOSITORY =
  /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MAX_NAME_LENGTH = 255;

/**
 * Parses the name of an image. Without a registry it is docker.io's, and without tag and digest the
 * tag is `latest`. Throws InvalidImageName.
 */
export function parseReference(name: string): ImageReference {
  const fail = (): never => {
    throw new CriError('InvalidImageName', `invalid reference format: ${JSON.stringify(name)}`);
  };
  const at = name.indexOf('@');
  const digest = at < 0 ? undefined : name.slice(at + 1);
  let path = at < 0 ? name : name.slice(0, at);
  const colon = path.lastIndexOf(':');
  let tag: string | undefined;
  if (colon > path.lastIndexOf('/')) {
    tag = path.slice(colon + 1);
    path = path.slice(0, colon);
  }
  const [first = '', ...rest] = path.split('/');
  const hasHost =
    rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost');
  const host = hasHost ? first : 'docker.io';
  const repository = hasHost ? rest.join('/') : rest.length > 0 ? path : `library/${path}`;
  if (!HOST.test(host) || !REPOSITORY.test(repository) || repository.length > MAX_NAME_LENGTH)
    fail();
  if ((tag !== undefined && !TAG.test(tag)) || (digest !== undefined && !DIGEST.test(digest)))
    fail();
  return {
    host,
    repository,
    tag: tag ?? (digest === undefined ? 'latest' : undefined),
    digest,
  };
}

/** Returns the name without tag and digest, such as docker.io/library/busybox. */
export const familiarName = ({ host, repository }: ImageReference): string =>
  `${host}/${repository}`;

/** Reports whether the text is an image's ID: a digest without a name. */
export const isImageId = (text: string): boolean =>
  DIGEST.test(text) || /^[0-9a-f]{64}$/.test(text);
