// Users and groups of a container, by the account files of its image.

import { CriError, type ContainerConfig } from '#cri/index.ts';
import type { RunAs } from '../program.ts';

export interface AccountFiles {
  /** The text of /etc/passwd, or ''. */
  readonly passwd: string;
  /** The text of /etc/group, or ''. */
  readonly group: string;
}

export interface ContainerAccount extends RunAs {
  /** The home directory. */
  readonly home: string;
}

interface PasswdEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

interface GroupEntry {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

const MAX_ID = 2 ** 32 - 2;
const toId = (text: string | undefined): number => (/^\d+$/.test(text ?? '') ? Number(text) : NaN);

function parsePasswd(text: string): readonly PasswdEntry[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid, , home = ''] = line.split(':');
    const entry = { name, uid: toId(uid), gid: toId(gid), home };
    return Number.isNaN(entry.uid) || Number.isNaN(entry.gid) ? [] : [entry];
  });
}

function parseGroup(text: string): readonly GroupEntry[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , gid, members = ''] = line.split(':');
    const entry = { name, gid: toId(gid), members: members.split(',').filter(Boolean) };
    return Number.isNaN(entry.gid) ? [] : [entry];
  });
}

/**
 * Returns the user and groups of a container. Its security context comes before `imageUser`
 * (USER[:GROUP]). Throws InvalidArgument for a name that the image does not have.
 */
export function resolveAccount(
  config: ContainerConfig,
  imageUser: string,
  files: AccountFiles,
): ContainerAccount {
  const context = config.linux?.securityContext;
  const runAsUser = context?.runAsUser?.value;
  const runAsGroup = context?.runAsGroup?.value;
  const username = context?.runAsUsername ?? '';
  if (runAsGroup !== undefined && runAsUser === undefined && username === '')
    throw new CriError('InvalidArgument', 'user group is specified without user');
  const users = parsePasswd(files.passwd);
  const groups = parseGroup(files.group);
  const [imageName = '', imageGroup = ''] = imageUser.split(':');
  const wanted = runAsUser === undefined ? username || imageName || '0' : String(runAsUser);
  const user = /^\d+$/.test(wanted)
    ? (users.find(({ uid }) => uid === Number(wanted)) ?? {
        name: '',
        uid: Number(wanted),
        gid: 0,
        home: '/',
      })
    : users.find(({ name }) => name === wanted);
  if (user === undefined)
    throw new CriError('InvalidArgument', `no users found: the image has no user ${wanted}`);
  const fromImage = runAsUser === undefined && username === '' ? imageGroup : '';
  const gid = runAsGroup ?? (fromImage === '' ? user.gid : groupId(fromImage, groups));
  const merged =
    context?.supplementalGroupsPolicy === 'Strict' || user.name === ''
      ? []
      : groups.filter(({ members }) => members.includes(user.name)).map((group) => group.gid);
  const all = [gid, ...(context?.supplementalGroups ?? []), ...merged];
  for (const id of [user.uid, ...all])
    if (!Number.isInteger(id) || id < 0 || id > MAX_ID)
      throw new CriError('InvalidArgument', `${id} is not the ID of a user or group`);
  return {
    uid: user.uid,
    gid,
    groups: [...new Set(all)].toSorted((a, b) => a - b),
    home: user.home || '/',
  };
}

function groupId(group: string, groups: readonly GroupEntry[]): number {
  if (/^\d+$/.test(group)) return Number(group);
  const found = groups.find(({ name }) => name === group);
  if (found === undefined)
    throw new CriError('InvalidArgument', `no groups found: the image has no group ${group}`);
  return found.gid;
}
