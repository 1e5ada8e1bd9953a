// `cluster.install`: makes the server serve custom resources.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYamlDocuments } from '#api/machinery/codec/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';

/**
 * CustomResourceDefinitions: the path or file: URL of a file or folder (YAML or JSON), YAML text
 * (with a line break), an object, a resource of `defineCustomResource`, or several of them.
 */
export type Definitions = string | URL | object | readonly (string | URL | object)[];

export interface DefinitionTarget {
  apply(definitions: readonly object[]): Promise<readonly KubeObject[]>;
  /** Resolves when the resources of a definition are served. */
  established(name: string): Promise<unknown>;
}

const FILES = /\.(ya?ml|json)$/;

/**
 * Applies definitions, and waits until their resources are served. Objects of other kinds are
 * ignored, as envtest does. Resolves with the definitions. Rejects with TypeError if there are
 * none, with the error of the file system, and that of the target.
 */
export async function installDefinitions(
  target: DefinitionTarget,
  given: Definitions,
): Promise<readonly KubeObject[]> {
  const definitions = documentsOf(given).filter(isDefinition);
  if (definitions.length === 0) throw new TypeError('there is no CustomResourceDefinition in it');
  const applied = await target.apply(definitions);
  for (const { metadata } of applied) await target.established(metadata.name);
  return applied;
}

function documentsOf(given: Definitions): readonly unknown[] {
  if (Array.isArray(given))
    return given.flatMap((each: string | URL | object) => documentsOf(each));
  if (given instanceof URL) return documentsAt(fileURLToPath(given));
  if (typeof given === 'string')
    return given.includes('\n') ? parseYamlDocuments(given) : documentsAt(given);
  return ['definition' in given ? given.definition : given];
}

function documentsAt(path: string): readonly unknown[] {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => FILES.test(name))
        .toSorted()
        .map((name) => join(path, name))
    : [path];
  return files.flatMap((file) => parseYamlDocuments(readFileSync(file, 'utf8')));
}

function isDefinition(document: unknown): document is KubeObject {
  const { kind, apiVersion } = (document ?? {}) as Partial<KubeObject>;
  return kind === 'CustomResourceDefinition' && apiVersion === 'apiextensions.k8s.io/v1';
}
