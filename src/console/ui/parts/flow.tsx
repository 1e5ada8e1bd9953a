// A picture of boxes and lines, to be moved and zoomed, also with the keyboard.

import {
  Background,
  Controls,
  type Edge,
  Handle,
  type Node,
  Position,
  ReactFlow,
} from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { useComputedColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly content: ReactNode;
  readonly className?: string;
}

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
}

type BoxNode = Node<{ readonly content: ReactNode; readonly down: boolean }, 'box'>;

const BoxView = ({ data }: { readonly data: BoxNode['data'] }): ReactNode => (
  <>
    <Handle
      type="target"
      position={data.down ? Position.Top : Position.Left}
      isConnectable={false}
    />
    {data.content}
    <Handle
      type="source"
      position={data.down ? Position.Bottom : Position.Right}
      isConnectable={false}
    />
  </>
);

const NODE_TYPES = { box: BoxView };

export function Flow({
  label,
  boxes,
  lines,
  down = false,
}: {
  readonly label: string;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  /** Lines go from top to bottom; otherwise from left to right. */
  readonly down?: boolean;
}): ReactNode {
  const colorScheme = useComputedColorScheme('light');
  const nodes: BoxNode[] = boxes.map(({ id, x, y, content, className }) => ({
    id,
    type: 'box',
    position: { x, y },
    data: { content, down },
    className: `flow-box ${className ?? ''}`,
    connectable: false,
    deletable: false,
    ariaRole: 'group',
  }));
  const edges: Edge[] = lines.map(({ from, to, label: text }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    label: text,
    focusable: false,
    deletable: false,
  }));
  return (
    <div className="flow" role="group" aria-label={label}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        colorMode={colorScheme}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        minZoom={0.15}
        maxZoom={1.6}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        nodesFocusable={false}
        proOptions={{ hideAttribution: true }}
        onlyRenderVisibleElements
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}
