"""Characters, as a person sees and corrects them."""
