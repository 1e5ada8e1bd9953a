// A serving certificate for a kubelet that has no other. Its authority exists only while it is made,
// so clients cannot verify it. Names and lifetime are upstream's.

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import type { Random } from '#machinery/random.ts';
import { Pki } from '../../../credentials/pki.ts';

export interface SelfSignedPaths {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for the host name and writes both files, the key first. */
export async function writeSelfSigned(
  host: string,
  paths: SelfSignedPaths,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<void> {
  const seconds = Math.floor(clock.now() / 1000);
  const authority = await Pki.open({ clock, random, commonName: `${host}-ca@${seconds}` });
  const { cert, key } = await authority.sign({
    commonName: `${host}@${seconds}`,
    usage: 'server',
    hosts: [host],
  });
  mkdirSync(dirname(paths.cert), { recursive: true, mode: 0o755 });
  writeDurableFile(paths.key, key);
  writeDurableFile(paths.cert, cert + authority.caCertificate, { mode: 0o644 });
}
