// The list of keys.

import { Kbd, Modal, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { GO_TO } from './keys.ts';

const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ['Ctrl K', 'search everything'],
  ['?', 'this list'],
  ['/', 'filter the list'],
  ['↓ ↑ or j k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['Space or x', 'select the row'],
  ['Shift ↓ ↑', 'select a range'],
  ['Esc', 'clear selection or filter'],
];

export const KeyHelp = ({ onClose }: { readonly onClose: () => void }): ReactNode => (
  <Modal opened onClose={onClose} title="Keyboard" closeButtonProps={{ 'aria-label': 'Close' }}>
    <Table>
      <Table.Tbody>
        {KEYS.map(([keys, effect]) => (
          <Table.Tr key={keys}>
            <Table.Td>
              <Kbd>{keys}</Kbd>
            </Table.Td>
            <Table.Td>{effect}</Table.Td>
          </Table.Tr>
        ))}
        {Object.entries(GO_TO).map(([key, [title]]) => (
          <Table.Tr key={key}>
            <Table.Td>
              <Kbd>g</Kbd> <Kbd>{key}</Kbd>
            </Table.Td>
            <Table.Td>{title}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Modal>
);
