// Who has seen a story.

import type { Story } from '../api/types';

/** Events of a story since somebody has said that he has seen it; null where nobody has. */
export function unseen(story: Story): number | null {
  if (!story.acknowledged) return null;
  return Math.max(0, Number(story.events_total ?? 0) - Number(story.acknowledged.events));
}

/** Whether somebody has seen all of it. */
export const isSeen = (story: Story | undefined) => story !== undefined && unseen(story) === 0;

/** Who it was, in words. */
export const seenBy = (story: Story) => (story.acknowledged?.by ? `seen by ${story.acknowledged.by}` : 'seen');
