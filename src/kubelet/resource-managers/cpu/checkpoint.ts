// The file cpu_manager_state, in upstream's layout: the policy, the shared CPUs, and the exclusive
// CPUs by pod and container. Upstream's kubelet reads what this one has written, and the reverse.

import { fnv32a } from '#machinery/text/hash.ts';
import { CorruptCheckpointError } from '../../checkpoints/corrupt-checkpoint-error.ts';
import { type GoValue, spew } from '../../checkpoints/go-spew.ts';
import { formatCpuSet, parseCpuSet } from '../cpu-set.ts';
import { CpuAssignments } from './cpu-assignments.ts';

/** The name of the file. */
export const CPU_CHECKPOINT = 'cpu_manager_state';

export interface CpuCheckpoint {
  readonly policy: string;
  readonly assignments: CpuAssignments;
}

type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface File {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries?: Entries;
  readonly checksum: number;
}

/** Returns the contents of the file. */
export function encodeCpuCheckpoint({ policy, assignments }: CpuCheckpoint): string {
  const entries: Record<string, Record<string, string>> = {};
  for (const [uid, container, cpus] of assignments.entries())
    (entries[uid] ??= {})[container] = formatCpuSet(cpus);
  const file = { policyName: policy, defaultCpuSet: formatCpuSet(assignments.shared), entries };
  const { entries: _, ...withoutEntries } = file;
  const body = Object.keys(entries).length === 0 ? withoutEntries : file;
  return JSON.stringify({ ...body, checksum: checksum(file) });
}

/** Throws a CorruptCheckpointError. */
export function decodeCpuCheckpoint(contents: string): CpuCheckpoint {
  try {
    const file = JSON.parse(contents) as File;
    // Upstream does not check a file whose checksum is 0, which an administrator may have written.
    if (file.checksum !== 0 && file.checksum !== checksum(file)) throw new CorruptCheckpointError();
    const assignments = new CpuAssignments();
    assignments.shared = parseCpuSet(file.defaultCpuSet);
    for (const [uid, containers] of Object.entries(file.entries ?? {}))
      for (const [container, cpus] of Object.entries(containers))
        assignments.assign(uid, container, parseCpuSet(cpus));
    return { policy: file.policyName, assignments };
  } catch (error) {
    throw error instanceof CorruptCheckpointError
      ? error
      : new CorruptCheckpointError({ cause: error });
  }
}

function checksum({ policyName, defaultCpuSet, entries = {} }: Omit<File, 'checksum'>): number {
  const text = (value: string): GoValue => ({ type: 'string', value });
  return fnv32a(
    spew({
      type: '*state.CPUManagerCheckpoint',
      fields: {
        PolicyName: text(policyName),
        DefaultCPUSet: text(defaultCpuSet),
        Entries: {
          type: 'map[string]map[string]string',
          entries: byKey(entries).map(([uid, containers]) => [
            uid,
            {
              type: 'map[string]string',
              entries: byKey(containers).map(([name, cpus]) => [name, text(cpus)]),
            },
          ]),
        },
        Checksum: { type: 'checksum.Checksum', value: '0' },
      },
    }),
  );
}

function byKey<T>(entries: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  return Object.entries(entries).toSorted(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
}
