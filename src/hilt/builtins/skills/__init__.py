"""The tools of the category `skills`: Skill loads instructions, SkillDraft keeps a proposal for people to review."""
