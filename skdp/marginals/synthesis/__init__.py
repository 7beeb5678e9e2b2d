"""Synthetic rows from released tables: post-processing, free of privacy cost."""

from skdp.marginals.synthesis._agreement import table_agreements as table_agreements
from skdp.marginals.synthesis._low_rank import DenoisedTables as DenoisedTables
from skdp.marginals.synthesis._rows import PublicUniforms as PublicUniforms
from skdp.marginals.synthesis._rows import sample_codes as sample_codes
from skdp.marginals.synthesis._tables import NoisyTables as NoisyTables

__all__ = []  # the rooms of the house use these; users have MarginalReleaser.sample
