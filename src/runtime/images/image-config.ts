// The part of an image's configuration that containers are made from.

export interface ImageConfig {
  /** NAME=VALUE. */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** A user as in Dockerfiles: USER[:GROUP], each a name or a number; '' is root. */
  readonly user: string;
  readonly workingDir: string;
  /** The signal that stops its containers, or ''. */
  readonly stopSignal: string;
  /** The digests of the uncompressed layers. */
  readonly diffIds: readonly string[];
}

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the configuration; fields that are missing or malformed are empty. */
export function parseImageConfig(value: unknown): ImageConfig {
  const document = (value ?? {}) as {
    readonly config?: Readonly<Record<string, unknown>> | null;
    readonly rootfs?: { readonly diff_ids?: unknown };
  };
  const config = document.config ?? {};
  return {
    env: strings(config['Env']),
    entrypoint: strings(config['Entrypoint']),
    cmd: strings(config['Cmd']),
    user: text(config['User']),
    workingDir: text(config['WorkingDir']),
    stopSignal: text(config['StopSignal']),
    diffIds: strings(document.rootfs?.diff_ids),
  };
}
